"""The demo: everything on one machine, real where it can be.

- `run` plays it: `stage` starts and ends everything, `acts` are its acts (`commissioning` is the
  first), `figures`, `pacing` and `report` judge, `screen` shows. `options` are the constants.
- `control` and `traffic` talk to the control plane and to the load generator; `measuring` is the
  metrics system; `fleet` is what is declared.
- `layout`: lanes, data centres, ports. `processes`: starts and ends the children.
- `datacenter` (a process): worker pools behind HTTP endpoints; `pool`, `background`, `demand`,
  `exchange` are its parts.
- `load` (a process): sends every arrival of the trace to every lane at the same instant; `trace`,
  `client`, `tally`.
- `envoy_stats` and `collector`: measure, per period, what the control plane takes as samples.
"""
