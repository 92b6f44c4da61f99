"""The laboratory: strategies close the loop in worlds whose best split is known.

    preparation   a month of the operator's logs -> a trained version, as in production
    contestant    who plays: a strategy, bare or behind the envelope
    lane          one contestant in one weather: what serving would know, and its decisions
    loop          many lanes of one world, cycle by cycle
    oracle        what could have been reached, with and without limits on the step
    reference     held ratios and oracles as runs, to compare with
    audit         whether a decided path kept what the envelope promises
    scores        figures of each contestant in each world
    tournament    worlds and seeds over the processor's cores
    result        table and JSON, page the HTML report; progress while it runs
    digest        of the code that the figures depend on
    adversaries   models that are wrong on purpose

The strategies and the envelope are those of the control plane, not a copy.
"""
