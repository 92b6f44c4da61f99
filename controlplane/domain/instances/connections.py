"""Least connections by weight: the one whose next request costs it least.

Loads are requests in work; what counts is (load + 1) / weight, so that of idle ones the strongest
comes first.
"""

from collections.abc import Mapping


def least(weights: Mapping[str, int], loads: Mapping[str, int]) -> str:
    """The least loaded of all; weights > 0, at least one. The first of equal ones."""
    return min(weights, key=lambda name: (loads.get(name, 0) + 1) / weights[name])


def least_of_two(
    weights: Mapping[str, int], loads: Mapping[str, int], draws: tuple[float, float]
) -> str:
    """The less loaded of two that are drawn by weight.

    Many clients that each know their own requests only do not meet at the same instance, and the
    longest queue is nearly as short as with `least` (Mitzenmacher 2001).

    Args:
        draws: two random numbers in [0, 1).
    """
    first = _drawn(weights, draws[0])
    rest = {name: weight for name, weight in weights.items() if name != first}
    if not rest:
        return first
    second = _drawn(rest, draws[1])
    return least({first: weights[first], second: weights[second]}, loads)


def _drawn(weights: Mapping[str, int], draw: float) -> str:
    left = draw * sum(weights.values())
    for name, weight in weights.items():
        left -= weight
        if left < 0:
            return name
    return list(weights)[-1]
