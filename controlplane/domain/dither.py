"""Dither: small moves on purpose, so that what a split does can be learned from its logs.

Time is cut into blocks of half an hour. In each a service's share of the primary is shifted by 0,
0, +0.02 or -0.02, drawn by a hash of its name and the block's number: nobody can foresee it from
the load, and a replay draws the same. What is logged with it is the propensity, the probability
that this shift was drawn: with it effects of the ratio can be told from effects of the time (L.
Bottou et al., JMLR 2013). Pure; called by the guard of the same name.
"""

import hashlib
import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum

# One draw in four each: twice nothing, once up, once down.
SIGNS = (0, 0, 1, -1)
# A cycle that comes a little early still opens its block.
EARLY = 0.1


class DitherMode(StrEnum):
    """Which services are dithered."""

    DECLARED = "declared"
    ALL = "all"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dither:
    """The shift that is in force.

    Attributes:
        block: number of the block since the epoch.
        offset: what it adds to the share of the primary.
        propensity: probability of this offset when it was drawn; 1 where nothing was drawn.
        anchor: the shares without it.
        shares: the shares with it; when others are in force, somebody else moved.
    """

    block: int
    offset: float
    propensity: float
    anchor: tuple[float, ...]
    shares: tuple[float, ...]

    @property
    def drawn(self) -> bool:
        """Whether chance decided."""
        return self.propensity < 1.0


def block_at(now_s: float, block_s: float, cycle_s: float) -> int:
    """Number of the block that a cycle at `now_s` belongs to."""
    return math.floor((now_s + EARLY * cycle_s) / block_s)


def sign_of(service: str, block: int) -> int:
    """-1, 0 or 1: the draw of one service for one block."""
    digest = hashlib.sha256(f"dither/{service}/{block}".encode()).digest()
    return SIGNS[digest[0] % len(SIGNS)]


def propensity(sign: int, allowed: Collection[int]) -> float:
    """Probability that a draw ends at `sign`; one that is not allowed ends at 0.

    Args:
        allowed: those of 1 and -1 that may be drawn; decided before the draw, or it would be no
            probability.
    """
    ends = [each if each in allowed else 0 for each in SIGNS]
    return ends.count(sign) / len(ends)


def undrawn(dither: Dither) -> Dither:
    """The same shift, for a cycle in which nobody may move."""
    return replace(dither, propensity=1.0)
