"""The members of an ensemble: networks that differ by their seed and by the days they learn from.

Called by training.learning.residual. What the members disagree on is what the rows do not settle,
so their spread tells where the mean is a guess. Whole days are drawn, with replacement (the block
bootstrap; Künsch, 1989): minutes of one day are too much alike to be drawn one by one.
"""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# With fewer days a draw would often be one day again and again: equal stretches stand in.
MIN_DAYS = 5
_STRETCHES = 10


def member_seeds(seed: int, members: int) -> tuple[int, ...]:
    """One seed for each member; one network alone keeps the seed."""
    if members == 1:
        return (seed,)
    states = np.random.SeedSequence(seed).generate_state(members, np.uint64)
    # torch takes 63 bits.
    return tuple(int(state >> 1) for state in states)


def drawn_days(time_s: FloatArray, day_s: float, seed: int) -> IntArray:
    """Draw whole days until there are as many rows as before; the last one is cut.

    Args:
        time_s: (rows,) UTC epoch seconds, ordered.
        day_s: length of a day; 86,400 unless time is scaled.

    Returns:
        (rows,) indices of rows, day after day in the order of the draw.
    """
    rows = time_s.size
    day = np.floor(time_s / day_s)
    starts = np.flatnonzero(np.diff(day, prepend=-np.inf))
    if starts.size < MIN_DAYS:
        starts = np.unique(np.arange(_STRETCHES) * rows // _STRETCHES)
    ends = np.append(starts[1:], rows)
    draws = np.random.default_rng(seed)
    drawn: list[IntArray] = []
    missing = rows
    while missing > 0:
        chosen = int(draws.integers(starts.size))
        stretch = np.arange(starts[chosen], ends[chosen])[:missing]
        drawn.append(stretch)
        missing -= stretch.size
    return np.concatenate(drawn)
