"""Strategies: each proposes the shares of one service, from the same situation.

- situation: what every strategy is told, and what it answers (`Situation`, `Proposal`)
- queue_law: response time of a data centre as a function of its utilisation
"""
