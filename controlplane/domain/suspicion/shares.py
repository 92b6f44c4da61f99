"""Loads that contradict the shares in force and match them with two data centres exchanged.

The physical check behind `exchange`: it needs no memory of how the two used to look, so it also
finds names that were mixed up from the beginning. Each period is held against the shares of its
own time, so that a service that moves in every cycle is judged, too. Silent where loads cannot
tell: in the period of a move, with shares that are alike, or with too few requests for chance to
be ruled out.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from controlplane.domain.suspicion.doubt import Doubt, Suspicion
from controlplane.domain.suspicion.limits import SuspicionLimits
from controlplane.domain.suspicion.past import InForce, Past, true_s

# Periods in a row that must all agree: a failover passes through every share on its way.
AGREEING = 5
# Samples of one period, though sent apart.
TOGETHER = 1.5
# Standard deviations of a counted share that chance may not reach; it is looked at every period.
SURE = 6.0

# Periods that may be passed over because something moved in them.
MIXED = 5

Rates = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Period:
    """Request rates of one period, and the shares that were in force all through it."""

    rates: Rates
    shares: Rates

    @property
    def parts(self) -> Rates:
        """Observed share of each data centre."""
        return _parts(self.rates)


def shares_exchanged(past: Past, limits: SuspicionLimits) -> tuple[Suspicion, ...]:
    """Pairs of data centres that bear each other's share in force.

    The share of n requests has a standard deviation of at most 1 / (2 sqrt(n)).
    """
    periods = _periods(past)
    requests = past.period_s * math.fsum(rate for one in periods for rate in one.rates.values())
    if len(periods) < AGREEING or not requests > 0:
        return ()
    telling = max(limits.telling_share, SURE / (2.0 * math.sqrt(requests)))
    return tuple(
        _suspicion(past.shares, pair, periods[-1].parts)
        for pair in itertools.combinations(sorted(periods[0].rates), 2)
        if all(abs(one.shares[pair[0]] - one.shares[pair[1]]) >= telling for one in periods)
        and _match(periods, pair, limits)
    )


def _periods(past: Past) -> list[_Period]:
    """The last periods in which nothing moved, oldest first; [] when loads cannot tell."""
    names = [name for name, share in past.shares.items() if share > 0]
    newest = [past.trusted.get(name, ())[: -AGREEING - MIXED - 1 : -1] for name in names]
    if len(names) < 2:
        return []
    splits = (*past.earlier, InForce(since_s=past.moved_s, shares=past.shares))
    found: list[_Period] = []
    for samples in zip(*newest, strict=False):
        times_s = [true_s(one) for one in samples]
        rates = {one.datacenter: one.request_rate_rps or 0.0 for one in samples}
        if max(times_s) - min(times_s) > TOGETHER * past.period_s or not sum(rates.values()) > 0:
            return []
        shares = _throughout(splits, min(times_s) - past.period_s, max(times_s))
        if shares is not None and rates.keys() <= shares.keys():
            found.append(_Period(rates=rates, shares=shares))
    return found[:AGREEING][::-1]


def _throughout(splits: Sequence[InForce], start_s: float, end_s: float) -> Rates | None:
    """The shares in force from start to end; None when they changed or are not known."""
    before = [split for split in splits if split.since_s < start_s]
    if not before or any(start_s <= split.since_s <= end_s for split in splits):
        return None
    return before[-1].shares


def _match(periods: Sequence[_Period], pair: tuple[str, str], limits: SuspicionLimits) -> bool:
    """Whether all periods lean to the exchange, and together they match it."""
    names = periods[0].rates
    off = dict.fromkeys(names, 0.0)
    for one in periods:
        exchanged = {**one.shares, pair[0]: one.shares[pair[1]], pair[1]: one.shares[pair[0]]}
        parts = one.parts
        if any(
            abs(parts[name] - exchanged[name]) >= abs(parts[name] - one.shares[name])
            for name in pair
        ):
            return False
        for name in names:
            off[name] += (parts[name] - exchanged[name]) / len(periods)
    return all(abs(mean) <= limits.share_tolerance for mean in off.values())


def _parts(rates: Rates) -> Rates:
    total = math.fsum(rates.values())
    return {name: rate / total for name, rate in rates.items()}


def _suspicion(shares: Rates, pair: tuple[str, str], observed: Rates) -> Suspicion:
    one, other = pair
    return Suspicion(
        doubt=Doubt.SHARES_SWAPPED,
        centers=pair,
        message=f"{one} and {other} report {observed[one]:.2f} and {observed[other]:.2f} of the "
        f"load, in force are {shares[one]:.2f} and {shares[other]:.2f}: look whether their "
        "exporters or names are exchanged",
    )
