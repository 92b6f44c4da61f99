"""Routing: which request goes where, and why.

`route` the rules as values; `whitelist` hosts on which only listed paths pass; `expressions` what
a regular expression may cost. Read by the snapshot, by our matcher and by each plane's compiler.
"""
