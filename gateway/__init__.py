"""The gateway agent, `python -m gateway`: keeps the last good configuration next to a data plane and serves it when alone.

Imports `controlplane.domain` and nothing else of the control plane.
"""
