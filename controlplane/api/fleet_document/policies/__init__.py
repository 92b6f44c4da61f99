"""The part of a fleet document about admission policies.

- `policy`: what all kinds share, and which module reads which kind.
- `specs`: a kind as a table of rules, one for each field.
- one module for each kind, named as the kind is; `limits` has four whose keys are plain numbers.
"""
