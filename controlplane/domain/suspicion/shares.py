"""Loads that contradict the shares in force and match them with two data centres exchanged.

The physical check behind `exchange`: it needs no memory of how the two used to look, so it also
finds names that were mixed up from the beginning. Silent where loads cannot tell: right after a
move, with shares that are alike, or with too few requests for chance to be ruled out.
"""

import itertools
import math
from collections.abc import Mapping, Sequence

from controlplane.domain.suspicion.doubt import Doubt, Suspicion
from controlplane.domain.suspicion.limits import SuspicionLimits
from controlplane.domain.suspicion.past import Past, true_s

# Periods in a row that must all agree: a failover passes through every share on its way.
AGREEING = 5
# Samples of one period, though sent apart.
TOGETHER = 1.5
# Standard deviations of a counted share that chance may not reach; it is looked at every period.
SURE = 6.0

Rates = Mapping[str, float]


def shares_exchanged(past: Past, limits: SuspicionLimits) -> tuple[Suspicion, ...]:
    """Pairs of data centres that bear each other's share in force, though nothing moved lately.

    The share of n requests has a standard deviation of at most 1 / (2 sqrt(n)).
    """
    periods = _periods(past)
    requests = past.period_s * math.fsum(rate for rates in periods for rate in rates.values())
    if not requests > 0:
        return ()
    telling = max(limits.telling_share, SURE / (2.0 * math.sqrt(requests)))
    return tuple(
        _suspicion(past.shares, pair, _mean(periods))
        for pair in itertools.combinations(sorted(periods[0]), 2)
        if abs(past.shares[pair[0]] - past.shares[pair[1]]) >= telling
        and _match(periods, past.shares, pair, limits)
    )


def _periods(past: Past) -> list[Rates]:
    """Request rates of the last periods after a move; [] when it is too early to tell."""
    since_s = past.moved_s + past.period_s
    names = [name for name, share in past.shares.items() if share > 0]
    recent = [
        tuple(one for one in past.trusted.get(name, ()) if true_s(one) > since_s)[-AGREEING:]
        for name in names
    ]
    if len(names) < 2 or any(len(samples) < AGREEING for samples in recent):
        return []
    periods: list[Rates] = []
    for samples in zip(*recent, strict=True):
        times_s = [true_s(one) for one in samples]
        apart_s = max(times_s) - min(times_s)
        rates = {one.datacenter: one.request_rate_rps or 0.0 for one in samples}
        if apart_s > TOGETHER * past.period_s or not math.fsum(rates.values()) > 0:
            return []
        periods.append(rates)
    return periods


def _match(
    periods: Sequence[Rates], shares: Rates, pair: tuple[str, str], limits: SuspicionLimits
) -> bool:
    """Whether all periods lean to the exchange, and together they match it."""
    exchanged = {**shares, pair[0]: shares[pair[1]], pair[1]: shares[pair[0]]}
    together = _mean(periods)
    if any(abs(together[n] - exchanged[n]) > limits.share_tolerance for n in together):
        return False
    observed = (_parts(rates) for rates in periods)
    return all(
        abs(parts[name] - exchanged[name]) < abs(parts[name] - shares[name])
        for parts in observed
        for name in pair
    )


def _mean(periods: Sequence[Rates]) -> Rates:
    return _parts({name: math.fsum(rates[name] for rates in periods) for name in periods[0]})


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
