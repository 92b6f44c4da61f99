"""Routing: which request goes where, and why. Read by the snapshot, the gateways and each plane's
compiler.

Rules: `route` as values, `whitelist` hosts on which only listed paths pass, `precedence` the order
of routes, `expressions` what regular expressions mean and cost; `tls` the certificates of hosts
(with `certificate_notes`), `zones` what gateways may do. `conflicts` and `compatibility` are what
an author should know.
Packages: `matching` requests, `callers` who may call, `life` of a route from draft to end,
`compiling` for data planes.
"""
