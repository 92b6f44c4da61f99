"""The best split among many data centres of an objective that is a sum over them.

J(s) = sum_d s_d f_d(s_d), shares in hundredths. The least cost of k hundredths for the first
centres follows from that for one centre less, so the smallest J on the whole grid is found
exactly, whatever the shape of the parts; why not by exchanges between pairs: docs/adr/0011.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

HUNDREDTHS = 100
# Row: hundredths for the centres so far; column: hundredths of the newest of them.
_REST = np.arange(HUNDREDTHS + 1)[:, None] - np.arange(HUNDREDTHS + 1)

Bounds = Sequence[tuple[int, int]]


def allocated(parts_ms: FloatArray, bounds: Bounds) -> tuple[int, ...]:
    """The split with the smallest sum; of equal ones that which gives most to the first centres.

    Args:
        parts_ms: (centers, 101), finite: what a centre adds to the objective at each share.
        bounds: lowest and highest hundredths of each centre; they allow a sum of 100.

    Returns:
        Hundredths of each centre, sum 100.
    """
    least = np.where(np.arange(HUNDREDTHS + 1) == 0, 0.0, np.inf)
    choices = []
    for part, (low, high) in zip(parts_ms, bounds, strict=True):
        own = np.full(HUNDREDTHS + 1, np.inf)
        own[low : high + 1] = part[low : high + 1]
        table = np.where(_REST >= 0, least[_REST], np.inf) + own
        choice = np.argmin(table, axis=1)
        least = table[np.arange(HUNDREDTHS + 1), choice]
        choices.append(choice)
    left, split = HUNDREDTHS, []
    for choice in reversed(choices):
        split.append(int(choice[left]))
        left -= split[-1]
    return tuple(reversed(split))
