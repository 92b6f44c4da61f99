"""Traefik as a data plane: two files, one for its start and one that it reads again on change.

`render` turns a snapshot into them. `rules` compiles conditions, `middlewares` what is done with a
request, `upstreams` the services, `table` hosts and rules, `expressible` what cannot be said.
There is no courier: `signalbox render` writes the files, and Traefik watches them.
"""
