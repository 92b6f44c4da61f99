"""The route compiler: rules of a snapshot to RouteConfigurations.

`configuration` is what `render` calls. `expressible` judges each route, `tables` orders the rules
of a host, `tree` makes a matcher tree of them, `targets` one expression of many paths,
`conditions` and `cookies` say what a request must be like, `actions` what happens with it.
"""
