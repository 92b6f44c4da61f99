"""Where the traffic of a service comes from: its source regions, and how much each of them sends.

Data centres report their load, not where it came from. With the shares in force of each region
that can be told: it is the demand under which the observed loads are most likely. Called for each
`regional` service before its strategy is asked.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.center_use import recent
from controlplane.domain.strategies.regions import SourceRegion, in_force, summed
from controlplane.domain.strategies.situation import Center, Shares, Situation
from controlplane.domain.telemetry import Sample, load_measure, mean, reading
from controlplane.domain.topology import EVERYWHERE, GatewayGroup, RegionShares

FloatArray = NDArray[np.float64]

# Lengths of the steps: 1 is the plain one, which is exact for rows that are all at home; a long one
# between gets on where rows are alike. Three regions that are at least half at home are told to
# 0.3 % of the load in 99 of 100 cases, and to some 3 % in the worst.
STRIDES = (1, 3) * 25 + (1,)
# Loads that are explained as well as this are explained.
EXPLAINED = 1e-9
# Rows that differ less than this (the ratio of largest and smallest singular value) would make
# the noise of loads into demand.
WELL_CONDITIONED = 30.0
# Periods begin a little early or late.
PUNCTUAL = 0.9


def located(
    situation: Situation, gateways: Sequence[GatewayGroup], published: RegionShares
) -> Situation:
    """The situation of a `regional` service with its source regions; another one is as it was.

    Args:
        situation: `applied` is the split of traffic that has no home.
        gateways: their regions say which of the regions send traffic.

    Returns:
        The situation with one row for each region of its data centres, by name, and one for
        everything else; `applied` is their sum.
    """
    if situation.service.strategy is not StrategyName.REGIONAL:
        return situation
    rows = region_rows(situation, published)
    names = [row.name for row in rows]
    weights = _weights(situation, rows, _sending(names, gateways))
    regions = tuple(replace(row, weight=weight) for row, weight in zip(rows, weights, strict=True))
    return replace(situation, regions=regions, applied=summed(regions, in_force(regions)))


def region_rows(situation: Situation, published: RegionShares) -> tuple[SourceRegion, ...]:
    """The source regions of a `regional` service, without weight: homes and rows in force."""
    names = (*sorted({center.datacenter.region for center in situation.centers}), EVERYWHERE)
    everywhere = published.get(EVERYWHERE, {})
    homes = [_home(situation, name) for name in names]
    return tuple(
        SourceRegion(
            name=name,
            weight=0.0,
            home=home,
            shares=_row(situation.centers, published.get(name, everywhere), home),
        )
        for name, home in zip(names, homes, strict=True)
    )


def demand(rows: FloatArray, loads: FloatArray) -> FloatArray:
    """Load of each region that best explains the loads of the data centres.

    The maximum of the likelihood of Poisson counts. Where rows differ well, that is the solution of
    rows^T L = l, unless some L is negative; else by expectation maximisation:
    L_r <- L_r (sum_c s_rc l_c / sum_k L_k s_kc)^stride, then scaled to the total. It never turns
    negative, and rows that are alike share what they cannot be told apart by.

    Args:
        rows: (regions, centers) shares in force, each row sums to 1.
        loads: (centers,) >= 0.

    Returns:
        (regions,) >= 0; a load where no row leads belongs to none.
    """
    reached = rows.sum(axis=0) > 0
    total = float(loads[reached].sum())
    found = np.full(len(rows), total / len(rows))
    if not total > 0:
        return found
    solved = _solved(rows, np.where(reached, loads, 0.0))
    if solved is not None:
        return solved
    for stride in STRIDES:
        explained = found @ rows
        ratio = np.divide(loads, explained, out=np.zeros_like(loads), where=explained > 0)
        found = found * (rows @ ratio) ** stride
        found *= total / found.sum()
        if np.all(np.abs(ratio[reached] - 1.0) < EXPLAINED):
            break
    return found


def _solved(rows: FloatArray, loads: FloatArray) -> FloatArray | None:
    """The load of each region that explains all loads to the last; None where none does."""
    found, _, rank, singular = np.linalg.lstsq(rows.T, loads, rcond=None)
    if rank < len(rows) or singular[0] > WELL_CONDITIONED * singular[-1] or found.min() < 0:
        return None
    unexplained = np.abs(found @ rows - loads).max()
    return np.asarray(found) if unexplained <= EXPLAINED * loads.sum() else None


def since_move(situation: Situation, center: Center) -> tuple[Sample, ...]:
    """The newest samples of periods that began after the last move, oldest first."""
    since_s = situation.moved_s + PUNCTUAL * situation.period_s
    return tuple(one for one in recent(situation, center) if one.received_s >= since_s)


def _home(situation: Situation, region: str) -> Shares:
    """By capacity over the region's own centres that bear traffic in normal times."""
    own = [
        center.cluster.capacity_rps if center.active and center.datacenter.region == region else 0.0
        for center in situation.centers
    ]
    total = math.fsum(own)
    return tuple(part / total for part in own) if total > 0 else situation.applied


def _row(centers: Sequence[Center], published: Mapping[str, float], home: Shares) -> Shares:
    """What is in force, as far as it leads somewhere; the home when it does not."""
    shares = [
        published.get(center.name, 0.0) if center.cluster.endpoints else 0.0 for center in centers
    ]
    total = math.fsum(shares)
    return tuple(share / total for share in shares) if total > 0 else home


def _sending(names: Sequence[str], gateways: Sequence[GatewayGroup]) -> list[bool]:
    """Which regions have gateways; all that have a home, when no group is declared."""
    told = {group.region if group.region in names else EVERYWHERE for group in gateways}
    return [name in told if told else name != EVERYWHERE for name in names]


def _weights(
    situation: Situation, rows: Sequence[SourceRegion], sending: Sequence[bool]
) -> tuple[float, ...]:
    table = np.array([row.shares for row, sends in zip(rows, sending, strict=True) if sends])
    found = demand(table, _loads(situation))
    total = float(found.sum())
    parts = iter(found / total if total > 0 else np.full(len(table), 1.0 / len(table)))
    return tuple(float(next(parts)) if sends else 0.0 for sends in sending)


def _loads(situation: Situation) -> FloatArray:
    """Mean load of each centre since the last move; 0 where nothing is known."""
    histories = [
        since_move(situation, center) or recent(situation, center)[-1:]
        for center in situation.centers
    ]
    measure = load_measure(sample for history in histories for sample in history)
    means = [mean([reading(sample, measure) for sample in history]) for history in histories]
    return np.asarray(np.nan_to_num(np.array(means)))
