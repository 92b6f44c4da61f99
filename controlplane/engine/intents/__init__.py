"""Intents: what somebody wants against the scheduler.

- `intents`: made, shown and taken back; `evacuation` asks for them when health calls a place down.
- `plans` and `limits` forecast what one would move, from `facts`.
- `register` numbers and stores them; `standing` puts those that stand over a snapshot.
- `course`: what time brings them; `progress` on data planes, `troubles` as findings.
"""
