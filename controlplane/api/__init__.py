"""REST and event streams under /v1.

A router translates the wire to the domain, calls one engine function and translates back.
"""
