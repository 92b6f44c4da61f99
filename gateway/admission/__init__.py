"""Admission where requests come in: policies of the control plane, enforced beside any proxy.

`enforcing` what every kind of policy offers here; one module (or a few of one name) for each kind.
What is decided is decided in `controlplane.domain.admission`; here it meets the clock, the shared
state and HTTP.
"""
