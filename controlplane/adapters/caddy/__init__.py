"""Caddy as a data plane: one JSON configuration, given to its admin API.

`render` turns a snapshot into it. `matchers` compiles conditions, `normal_form` the spellings,
`table` hosts and rules, `handlers` what a route does, `upstreams` the services, `expressible` what
cannot be said. `plane` is a running Caddy.
"""
