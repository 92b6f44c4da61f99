"""nginx as a data plane: one configuration file, checked and reloaded.

`render` turns a snapshot into it. `tests` compiles conditions to maps, `table` the rules to
locations and lists of candidates, `locations` what a route does, `upstreams` the services,
`limits` what these let through, `normal_form` the spellings. `program` is a running nginx: checks
and reloads.
"""
