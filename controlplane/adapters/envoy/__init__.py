"""Envoy as a data plane: resources compiled from snapshots, served by ADS.

`plane` is the port's implementation; `render` compiles with `clusters`, `routing` and
`listeners`; `resource_sets` keeps serialised responses; `ads` and `nodes` serve and watch the
streams; `preflight` asks a local Envoy first; `bootstrap` prints what a node starts with.
"""
