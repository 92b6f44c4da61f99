"""The fleet document: the text form of a fleet, YAML or JSON.

- `parsing`: text -> Fleet, or every error at once with its place. `rendering`: Fleet -> YAML.
- `nodes`: text -> tree with lines and columns, within limits. `reading`: typed values from nodes.
- `sections`: the shape of each part. `services`, `routes`, `l4_routes`, `sources`: what stands in
  those; `times`: RFC 3339.
- `findings`: one error.
"""
