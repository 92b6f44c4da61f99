"""Failover in numbers: `plan` says where the load of a data centre goes and whether there is room.

`demand` is what it is asked, `placing` gives each service its room, `filling` spreads an amount
over bounded places; `ramps` says how fast traffic leaves and returns, `sessions` how many users
move.

No models and no metrics of its own: expected loads, capacities and who can serve are arguments.
"""
