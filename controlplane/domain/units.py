"""Units and exact conversions between shares and integer weights.

A share is a float in 0..1; a weight is an integer number of basis points and every weight set
sums to 10,000. Called by everything that turns a decision into configuration.
"""

import math
from collections.abc import Mapping, Sequence

from controlplane.domain.errors import Invalid

BASIS_POINTS = 10_000


def to_basis_points(shares: Mapping[str, float]) -> dict[str, int]:
    """Round shares to integer weights that sum to exactly 10,000 (largest remainder).

    Args:
        shares: name -> share, each finite and >= 0, at least one positive; they are normalised.

    Returns:
        name -> basis points, sorted by name; ties of the remainder go to the first name, so the
        order of the input does not matter.

    Raises:
        Invalid: a share is negative or not finite, or none is positive.
    """
    names = sorted(shares)
    values = [shares[name] for name in names]
    _check(names, values)
    total = math.fsum(values)
    exact = [value / total * BASIS_POINTS for value in values]
    floors = [math.floor(value) for value in exact]
    by_remainder = sorted(range(len(names)), key=lambda i: (floors[i] - exact[i], i))
    for index in by_remainder[: BASIS_POINTS - sum(floors)]:
        floors[index] += 1
    return dict(zip(names, floors, strict=True))


def _check(names: Sequence[str], values: Sequence[float]) -> None:
    bad = [n for n, v in zip(names, values, strict=True) if not math.isfinite(v) or v < 0]
    if bad:
        raise Invalid("share_out_of_range", f"shares of {bad} must be finite and >= 0")
    if not any(value > 0 for value in values):
        raise Invalid(
            "no_positive_weight",
            f"the weight set over {list(names)} has no positive share; give at least one > 0",
        )
