"""What several agents remember together: atomic primitives, in memory or in Redis.

`ports` what each primitive promises; `memory` one agent alone; `redis` several agents; `shared` all
primitives of one agent; `keys` their names. Both kinds are tried by one suite. No policy is decided
here: primitives count, lend and compare.
"""
