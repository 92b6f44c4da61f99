"""How long a demo request keeps a worker busy: heavy-tailed, and the same for one arrival in every
lane.

Called by the data centres (what a request costs) and by the demo (what the whole load costs). Never
draws at call time: the demand of arrival n is a fixed table entry, so that lanes differ only by the
split of traffic.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from statistics import NormalDist

TABLE_SIZE = 4096
"""Arrivals before the table repeats: about a minute of one lane."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Lognormal service demand. `mean_ms` holds after the cap; `cv` is the coefficient of variation
    before it.
    """

    mean_ms: float = 80.0
    cv: float = 1.3
    cap_ms: float = 600.0
    seed: int = 98

    def table_s(self) -> tuple[float, ...]:
        """Return `TABLE_SIZE` demands in seconds, shuffled by the seed; entry n serves arrivals n
        modulo the size.

        The entries are the evenly spaced quantiles of the law, so that every stretch of
        `TABLE_SIZE` arrivals carries exactly the declared work: plain draws would move the
        utilisation of a two-minute run by a percent.
        """
        variance = math.log(1.0 + self.cv**2)
        law = NormalDist(-variance / 2.0, math.sqrt(variance))
        raw = [math.exp(law.inv_cdf((k + 0.5) / TABLE_SIZE)) for k in range(TABLE_SIZE)]
        cap = self.cap_ms / self.mean_ms
        scale = _scale_for_unit_mean(raw, cap)
        table = [min(cap, scale * x) * self.mean_ms / 1000.0 for x in raw]
        random.Random(self.seed).shuffle(table)
        return tuple(table)


def _scale_for_unit_mean(raw: list[float], cap: float) -> float:
    scale = 1.0
    for _ in range(30):  # a contraction: the capped share of the mean is small
        scale /= sum(min(cap, scale * x) for x in raw) / len(raw)
    return scale
