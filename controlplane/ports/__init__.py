"""Ports: what the engine needs from the outside, as small Protocols in domain types.

Adapters implement them, `wiring` joins them, one behavioural suite per port runs on every
implementation.

- stores: fleet, snapshots, decisions, samples, minutes, jobs, intents, tokens, audit
- learning: the trainer, the registry of models
- outside: metric sources, data planes
"""
