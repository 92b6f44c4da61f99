"""The declared fleet, changed by compare-and-set.

- `fleets`: what is in force, and every change of it, for REST and CLI alike; `generations` keeps it
  beside the store.
- `change` judges one before it is stored, `difference` says what it changes, `guard` refuses what
  is too much; `findings` tells what stays wrong.
- `policy_edits`: changes of single policies.
"""
