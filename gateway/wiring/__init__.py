"""How a proxy is told to ask the agent, as text that an operator puts into its configuration.

One module for each kind of proxy, each a pure function of `plan.Plan`. What they have in common: a
call takes 20 ms at most, an agent that does not answer is left alone for a second, and what happens
then is said once (`--when-away`). HAProxy asks nobody; it sends requests through the agent's proxy.
"""
