"""Who reads what is published, and what they tell: in memory, told again after a restart.

- `seen`: gateways that poll, with the revision that they run.
- `policy_reports`: which policies they enforce; `policy_watch`: those that nobody does.
- `outcomes`: what applications' clients got.
"""
