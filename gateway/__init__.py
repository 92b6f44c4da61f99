"""The gateway agent, `python -m gateway`: what runs beside a data plane.

Imports `controlplane.domain` and nothing else of the control plane. Two agents in one program:
`admission_agent` enforces policies (`admission`, `forward_auth`, `proxy`, `state`; `wiring` says
how proxies ask it), and `agent` keeps an Envoy's configuration (`upstream` subscribes to the
control plane, `cache` keeps what it said on disk, `local_ads` serves that on loopback while the
control plane is away). `client` is for applications.
"""
