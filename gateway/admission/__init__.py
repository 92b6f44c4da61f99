"""Admission where requests come in: policies of the control plane, enforced beside any proxy.

`pipeline` asks what covers a request; `enforcing` what every kind of policy offers here, `registry`
which kinds there are, `surroundings` what they are given; one module (or a few of one name) for
each kind. What is decided is decided in `controlplane.domain.admission`; here it meets the clock,
the shared state and HTTP.
"""
