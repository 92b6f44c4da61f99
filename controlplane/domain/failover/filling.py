"""Spreads an amount over places with limited room, in proportion as far as it goes.

Called by `plan` for each tier of data centres. Progressive filling: who is full drops out, the
rest is spread over the others (Bertsekas and Gallager, Data Networks, section 6.5.2).
"""

import math
from collections.abc import Mapping

# Below this an amount is rounding, not load.
NOTHING = 1e-9


def spread(
    amount: float, weights: Mapping[str, float], rooms: Mapping[str, float]
) -> dict[str, float]:
    """Place -> part of the amount; they sum to less where there is not enough room.

    Args:
        amount: >= 0; infinite fills every room.
        weights: place -> in proportion to what it gets, >= 0; places with 0 get nothing.
        rooms: place -> most that it takes, >= 0, in the unit of the amount.
    """
    given = dict.fromkeys(weights, 0.0)
    open_places = {name for name, weight in weights.items() if weight > 0 and rooms[name] > NOTHING}
    left = min(amount, math.fsum(rooms[name] for name in open_places))
    while left > NOTHING and open_places:
        total = math.fsum(weights[name] for name in open_places)
        full = set()
        rest = left
        for name in sorted(open_places):
            # The share first: a product with the least of weights may round to twice its value.
            part = min(rest * (weights[name] / total), rooms[name] - given[name])
            given[name] += part
            left -= part
            if rooms[name] - given[name] <= NOTHING:
                full.add(name)
        if not full:
            break
        open_places -= full
    return given
