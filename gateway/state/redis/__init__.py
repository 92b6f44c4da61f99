"""Shared state of several agents, in a Redis of 7.0 or newer.

`link` the connection with its deadline; one module for each concept, each with its Lua scripts.
Time is always that of Redis: agents whose clocks differ count the same.
"""
