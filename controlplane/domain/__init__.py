"""Pure scheduling, routing and snapshot logic: functions and frozen values.

Standard library, numpy and RE2, which only compute. No clock, randomness, logging, input, output or
asyncio: `now` and seeds are arguments. From below:

- what everything is made of: `errors`, `units`, `canonical` (the same meaning, the same bytes),
  `state_table`, `findings`, `access`
- what is declared: `services`, `sources`, `routing` (with `radix`), `admission`, `topology`
- what is known: `telemetry`, `pulling`, `suspicion`, `health`
- what is decided: `strategies`, `guardrails`, `decisions`, `ladder`; `failover` and `intents`
- what is published: `snapshot`, made of a fleet by `fleet_snapshot`; `instances`, as it is used
- what people do with it: `operations`
- about models: `jobs`, `promotions`, `retraining`, `examination`
"""
