"""HAProxy as a data plane: a configuration file with maps, and the runtime socket.

`render` turns a snapshot into files. `table` compiles the rules to maps, `tests` the conditions to
ACLs, `backends` the services, `limits` what these let through, `actions` what a route does beside
choosing one, `frontend` the way of a request through all of it. `program` is a running HAProxy:
checks, reloads, runtime changes.
"""
