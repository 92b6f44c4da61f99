"""Smooth weighted round robin, as nginx has it (`ngx_http_upstream_get_peer`, 2012).

At each choice everybody's current value grows by its weight; the largest is chosen and pays the
sum of all weights. Over as many choices as that sum each is chosen exactly as often as its weight
says, and spread evenly: 5, 1, 1 gives a a b a c a a.
"""

from collections.abc import Mapping


def smooth(weights: Mapping[str, int], currents: Mapping[str, int]) -> tuple[str, dict[str, int]]:
    """The next name, and the values to come with the next time.

    Args:
        weights: name -> weight, > 0, at least one. The first of equal ones is chosen.
        currents: what the last choice returned, {} at first. A new name begins at 0, and one
            that is gone is forgotten; the others keep their turn.
    """
    raised = {name: currents.get(name, 0) + weight for name, weight in weights.items()}
    chosen = max(raised, key=raised.__getitem__)
    raised[chosen] -= sum(weights.values())
    return chosen, raised
