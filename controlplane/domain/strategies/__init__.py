"""Strategies: each proposes the shares of one service, from the same situation.

- situation: what every strategy is told, and what it answers (`Situation`, `Proposal`)
- center_use: recent load and use of each data centre
- projection: what they become at other shares, and in the coming cycle
- tenancy: what the services on shared pools put on them
- queue_law: response time of a data centre as a function of its utilisation
- candidates: the 61 ratios, and the choice among them by prediction and the way there
- rules: static, capacity, cpu_equalizer, threshold
- observed, fallback: queue laws of what is measured just now, and who falls back to them
- networks: paper_mlp, projected_mlp
- greybox: greybox, hybrid
- spread: greybox for more than two data centres
- allocation: the smallest sum over all of them
- regions: rows of shares by source region, and what follows from their sum
- demand: how much each region sends
- regional, regional_load: regional, and the load that it goes by
- registry: name -> strategy, and `propose`
"""
