"""REST and event streams under /v1.

A router translates the wire to the domain, calls one engine function and translates back.

- `app`: makes the application. `dependencies`: what routers are given, and the token check.
- `edge`: what every exchange goes through: limits, errors, entity tags, streams.
- `resources`: one router for each group. `wire`: what they read and answer. `route_write`: what
  writes of routes share; `published`: what is in force, or why nothing is.
- `fleet_document`: the text form of a fleet. `route_documents`: other formats of routes.
- `metrics`: /metrics; `forecasts` and `ladder` stand there and on the wire.
"""
