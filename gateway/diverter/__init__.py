"""The diverter (S2): takes all stations' connections and gives each to a regional server.

The old protocol stays as it is: bytes are passed on as they came. `servers` who is there and how
loaded; `station` one station's connection, `sides` its two ends; `diverter` the life of the
program; `door` where the servers may tell the use of their database pools.
"""
