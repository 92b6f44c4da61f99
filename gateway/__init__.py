"""The gateway agent, `python -m gateway`: the last good configuration beside a data plane.

Imports `controlplane.domain` and nothing else of the control plane. `agent` joins the parts:
`upstream` subscribes to the control plane, `cache` keeps what it said on disk, `local_ads`
serves that on loopback while the control plane is away.
"""
