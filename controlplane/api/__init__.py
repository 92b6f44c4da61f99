"""REST and event streams under /v1: translate the wire to the domain, call one engine function, translate back."""
