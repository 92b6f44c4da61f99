"""Who is well: facts about endpoints, clusters, services and data centres, without a clock.

`states` has the tables, `checks` what probes of one observer say, `quorum` what observers agree on,
`passive` what requests say, `policy` what holds when all look dead, `picture` the whole for those
who act on it, `judging` the step from facts to the next picture, `budget` who may probe how often,
`ejection` one client's own judgment, `words` the findings. Nothing here moves traffic.
"""
