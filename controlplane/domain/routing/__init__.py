"""Routing: which request goes where, and why. Read by the snapshot, the gateways and each plane's
compiler.

Rules: `route` as values, `whitelist` hosts on which only listed paths pass, `expressions` what a
regular expression may cost.
Requests: `normalization` the one spelling of a path, `request` as rules see it.
Matching: `precedence` the order of routes, `conditions`, `cohorts`, `functions` and
`provided_functions`, `dialect` RE2 by Python's engine, `rule` a route made ready to be asked,
`matching` the table, `explanation` who wins and why, `wire` the table as bytes.
Writing: `conflicts` and `compatibility` what an author should know, `checks` test requests,
`release`, `gates`, `revision`, `in_force`, `selection` the life of a route.
Callers: `callers`, `authorization`, `grant_classes`, `caller_support`, `signatures`, `jwks`,
`tls`, `certificate_notes`, `zones`.
Compilers: `choices` a route and one version, `places` and `prefix_keys` tables of planes that find
the longest key, `grouped_lists` (with `overlaps`) long lists at one key, `pcre` their dialect.
"""
