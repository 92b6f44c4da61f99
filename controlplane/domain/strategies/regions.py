"""Rows of shares, one for each source region, and what they make of the data centres together.

A service with the strategy `regional` has a split for each region that traffic comes from. The
guards judge the sum over the regions, as they judge every split; this is how a row follows what
became of the sum. Plain arithmetic on tuples, in the order of the service's centres.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

Row = tuple[float, ...]
Rows = tuple[Row, ...]

# What rounding may add to a share.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRegion:
    """Where the traffic of one region goes.

    Attributes:
        name: the region, or `topology.EVERYWHERE`.
        weight: its part of the service's load, 0..1; all regions of a service sum to 1.
        home: where its traffic goes while there is room, sum 1.
        shares: in force, sum 1 (all 0 without endpoints).
    """

    name: str
    weight: float
    home: Row
    shares: Row


def summed(regions: Sequence[SourceRegion], rows: Rows) -> Row:
    """The service's shares when each region has its row."""
    return tuple(
        math.fsum(region.weight * share for region, share in zip(regions, column, strict=True))
        for column in zip(*rows, strict=True)
    )


def in_force(regions: Sequence[SourceRegion]) -> Rows:
    """The rows in force."""
    return tuple(region.shares for region in regions)


def farthest(one: Rows, other: Rows) -> float:
    """Largest difference of a share in any row."""
    pairs = zip(one, other, strict=True)
    return max((abs(a - b) for r, s in pairs for a, b in zip(r, s, strict=True)), default=0.0)


def between(start: Rows, end: Rows, part: float) -> Rows:
    """The rows at this part (0..1) of the way."""
    return tuple(
        tuple(a + (b - a) * part for a, b in zip(row, other, strict=True))
        for row, other in zip(start, end, strict=True)
    )


def followed(start: Rows, sums: tuple[Row, Row, Row], end: Rows) -> Rows:
    """The rows whose sum is what the guards let out.

    Args:
        start: in force.
        sums: of the rows in force, of the proposed ones, and what was let out.
        end: proposed.

    Returns:
        The rows as far on their way as their sum is; where the sum left that way, the rows in
        force with as much carried from centre to centre.
    """
    now, proposed, let_out = sums
    if _same(let_out, proposed):
        return end
    way = [b - a for a, b in zip(now, proposed, strict=True)]
    length = math.fsum(step * step for step in way)
    gone = [b - a for a, b in zip(now, let_out, strict=True)]
    part = math.fsum(a * b for a, b in zip(gone, way, strict=True)) / length if length else 0.0
    if 0.0 <= part <= 1.0 and _same(let_out, between((now,), (proposed,), part)[0]):
        return between(start, end, part)
    return carried(start, now, let_out)


def carried(rows: Rows, now: Row, then: Row) -> Rows:
    """The rows after their sum went from `now` to `then`.

    A centre that loses gives up the same part of its share in every row; what a row gives up goes
    to the centres that gain, by how much they do. So the rows stay splits, and sum up to `then`.
    """
    kept = [min(b / a, 1.0) if a > 0 else 1.0 for a, b in zip(now, then, strict=True)]
    gains = [max(b - a, 0.0) for a, b in zip(now, then, strict=True)]
    total = math.fsum(gains)
    if not total > 0:
        return rows
    return tuple(_carried(row, kept, [gain / total for gain in gains]) for row in rows)


def _carried(row: Row, kept: Sequence[float], gains: Sequence[float]) -> Row:
    given = math.fsum(share * (1.0 - part) for share, part in zip(row, kept, strict=True))
    return tuple(
        share * part + given * gain for share, part, gain in zip(row, kept, gains, strict=True)
    )


def _same(one: Row, other: Row) -> bool:
    return all(abs(a - b) <= ROUNDING for a, b in zip(one, other, strict=True))
