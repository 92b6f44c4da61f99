"""The part of a fleet document about admission policies.

- `policy`: what all kinds share, and which module reads which kind.
- one module for each kind, named as the kind is.
"""
