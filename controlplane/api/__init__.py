"""REST and event streams under /v1.

A router translates the wire to the domain, calls one engine function and translates back.

- `app`: makes the application. `dependencies`: what routers are given, and the token check.
- `problems`: errors as RFC 9457 documents. `edge`: limits and headers of every exchange.
- `conditional`: entity tags and long polls. `sse`: event streams. `metrics`: /metrics.
- `wire`: values that several resources share. `resources`: one router for each group.
- `fleet_document`: the text form of a fleet.
"""
