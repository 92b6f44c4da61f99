"""Pure scheduling, routing and snapshot logic: functions and frozen values, stdlib and numpy.

No clock, randomness, logging, input, output or asyncio: `now` and seeds are arguments.
"""
