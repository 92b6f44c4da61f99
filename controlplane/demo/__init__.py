"""The demo: everything on one machine, real where it can be.

- `layout`: lanes, data centres, ports. `processes`: starts and ends the children.
- `datacenter` (a process): worker pools behind HTTP endpoints; `pool`, `background`, `demand`,
  `exchange` are its parts.
- `load` (a process): sends every arrival of the trace to every lane at the same instant; `trace`,
  `client`, `tally`.
- `envoy_stats` and `collector`: measure, per period, what the control plane takes as samples.
"""
