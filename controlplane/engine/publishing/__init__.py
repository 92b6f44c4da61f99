"""What is in force now, and how it gets to data planes.

- `publication`: the newest snapshot, and everyone who waits for it; `shares`: the splits in it.
- `couriers`: one brings it to each data plane. `following` asks the store for newer revisions, so
  that a process that was stopped takes no plane back.
"""
