"""The gateway agents, `python -m gateway`: what runs beside a data plane.

Imports `controlplane.domain` and nothing else of the control plane. From below:

- `last_good`: what the control plane said last, kept for as long as it is away.
- `xds_cache`: the agent that keeps an Envoy's configuration beside it.
- `admission`: policies at work, with `state` that agents share; `admission_agent` is the agent, its
  doors are `forward_auth` (other proxies ask), `proxy` (its own) and `diverter` (stations);
  `wiring` says how proxies ask it. `sale_agent` serves flash sales, from `direct_http`.
- `client`, over `application`: instances of services inside applications.
- `commands` start them.
"""
