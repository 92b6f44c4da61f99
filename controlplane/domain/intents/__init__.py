"""Intents: what somebody asked for, and what the published configuration makes of it.

Nothing here changes what is declared or decided, so an intent that is gone leaves exactly what was
there before it.

- intent: the model with its states
- rules: refuses what is not safe
- scope: which services an intent is about; demands: what its plan counts with
- grounding: what stands below the intents
- overlay: the intents over a snapshot's content, by way of presence (how much each place keeps),
  parts (clusters and endpoints), sessions (what may stay), limiting (presets and admission) and
  rooms (waiting rooms)
- orders: what the intents are to health
- set_back: intents under a clock that was set back
"""
