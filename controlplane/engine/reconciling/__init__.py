"""The one task that writes snapshots.

- `loop`: when a tick begins, and the order in which snapshots are made. `tick` is what one
  computes, with `desired`, the whole desired state; `telling` what it says.
- `publisher` stores a snapshot and puts it in force, with standing intents over it.
- `records`: decisions on their way to the store. `punctuality`: whether cycles are on time.
"""
