"""The only place where time passes and state changes.

It reaches the outside through the Protocols of `controlplane.ports` only.
"""
