"""Ports: what the engine needs from the outside, as small Protocols in domain types.

Adapters implement them, `wiring` joins them, one behavioural suite per port runs on every
implementation.

- stores: fleet, snapshots, decisions, samples, minutes, jobs, intents, tokens, audit
- learning: the trainer, the registry of models
- health: checkers, and where the newest picture is kept
- operations: named items, the journal, messages to webhooks and who carries them
- outside: metric sources, data planes, processes of this machine
"""
