"""The gateway agent, `python -m gateway`: the last good configuration beside a data plane.

Imports `controlplane.domain` and nothing else of the control plane.
"""
