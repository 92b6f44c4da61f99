"""The suspicion guard: input that is absurd against the last trusted state is no fact yet.

- limits: from where on input is suspicious, which are settings
- doubt: what is suspected, of which data centres, and how it reads as a finding
- past: the trusted state that a sample is judged against
- metrics: a sample that jumped or is frozen, and metrics that stopped
- exchange: two data centres whose readings look exchanged
- shares: two data centres that bear each other's share in force
- fleets: a change of the fleet that removes or moves too much at once

Pure, as all of the domain. `engine.samples.suspicion` holds what is suspicious, forces it and
reports it; the envelope holds the weights of a service meanwhile.
"""
