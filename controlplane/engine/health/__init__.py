"""Health of endpoints: who is asked, who tells, and what follows.

- `watch` takes facts in, has them judged, and hands the picture to whoever acts on it.
- `probing`: the probes of one observer. `observers`: our own and those elsewhere.
- `passive_signals`: what gateways and applications tell of their requests.
"""
