"""The one task that writes snapshots.

- `loop`: a tick rebuilds the whole desired state; `desired` builds it, `publisher` stores it and
  puts it in force, with standing intents over it.
- `records`: decisions on their way to the store. `punctuality`: whether cycles are on time.
"""
