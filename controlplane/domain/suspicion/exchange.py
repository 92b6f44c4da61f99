"""Two data centres whose readings look exchanged: each like the other, neither like itself.

Judged sample by sample. Data centres that look alike never trip it: an exchange of equals is none.
"""

import itertools
import math
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from controlplane.domain.suspicion.doubt import Doubt, Suspicion
from controlplane.domain.suspicion.limits import SuspicionLimits
from controlplane.domain.suspicion.past import Past, idle_below, median, reference, true_s
from controlplane.domain.telemetry import Sample, load_measure, reading

# What tells data centres apart, and the value below which a reading says nothing.
TRAITS: Mapping[str, float] = {
    "request_rate_rps": 1.0,
    "response_time_ms": 1.0,
    "cpu_avg": 0.01,
    "ingress_bandwidth_bps": 1e5,
    "memory": 0.01,
    "disk": 0.01,
    "connection_limit": 1.0,
}
# Traits with one cause rise and fall together: a load of its own lengthens answers, too. So two
# causes at least must bear an exchange out.
CAUSES: Mapping[str, str] = {
    "request_rate_rps": "traffic",
    "ingress_bandwidth_bps": "traffic",
    "response_time_ms": "work",
    "cpu_avg": "work",
}
LEAST_CAUSES = 2
# A trait tells two data centres apart from this difference on (logarithm of the ratio, some 10 %).
TELLING = 0.1
# When both changed alike by more than this part of their difference, one of them changed, or the
# whole service did; an exchange leaves the middle where it was.
COMMON = 0.5
# Samples of one period, though sent apart.
TOGETHER = 1.5
# A share that came this much nearer to the one in force was moved, not exchanged.
NEARER = 0.02

Pair = tuple[Sample, Sample]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Contrast:
    """One trait of two data centres as logarithms: `usual` and `now` are one against the other,
    `common` is by how much both have changed alike."""

    cause: str
    usual: float
    now: float
    common: float

    @property
    def telling(self) -> bool:
        return abs(self.usual) >= TELLING

    @property
    def off(self) -> float:
        """How far it is from what is usual."""
        return abs(self.now - self.usual)

    @property
    def crossed(self) -> float:
        """How far it is from what is usual with the data centres exchanged."""
        return abs(self.now + self.usual)


def swapped(sample: Sample, past: Past, limits: SuspicionLimits) -> Suspicion | None:
    """The sample looks like another data centre, whose newest looks like this one.

    An idle data centre looks like any other: it is never judged, so that a failover to an idle
    one is no exchange.
    """
    if _idle(sample, past, limits):
        return None
    for newest in _companions(sample, past):
        if _idle(newest, past, limits):
            continue
        pair = (sample, newest)
        befores = tuple(reference(past, one.datacenter, one, limits) for one in pair)
        if all(befores) and _exchanged(pair, befores, limits) and not _moved(pair, befores, past):
            return _suspicion(sample, newest)
    return None


def _suspicion(sample: Sample, newest: Sample) -> Suspicion:
    names = tuple(sorted((sample.datacenter, newest.datacenter)))
    message = (
        f"{names[0]} reports what {names[1]} did until now, and {names[1]} what {names[0]} did: "
        "look whether their exporters or names are exchanged"
    )
    also = () if newest.suspicion else (newest,)
    return Suspicion(doubt=Doubt.SWAPPED, centers=names, message=message, also=also)


def _companions(sample: Sample, past: Past) -> Iterator[Sample]:
    """The newest of other data centres of the same period that a first look does not clear.

    The look compares with one trusted sample of each, which clears nearly always and is cheap.
    """
    own = past.trusted.get(sample.datacenter, ())
    for name, newest in sorted(past.newest.items()):
        other = past.trusted.get(name, ())
        if name == sample.datacenter or not own or not other:
            continue
        if abs(true_s(newest) - true_s(sample)) > TOGETHER * past.period_s:
            continue
        earlier = other[-2:][0] if other[-1] is newest else other[-1]
        if _may_be_exchanged((sample, newest), (own[-1], earlier)):
            yield newest


def _may_be_exchanged(pair: Pair, earlier: Pair) -> bool:
    """Whether some trait that differs has turned since one sample ago, and none has stayed."""
    turned = False
    for name, floor in TRAITS.items():
        one, other = getattr(pair[0], name), getattr(pair[1], name)
        own, others = getattr(earlier[0], name), getattr(earlier[1], name)
        if None in (one, other, own, others):
            continue
        usual = math.log(max(own, floor) / max(others, floor))
        now = math.log(max(one, floor) / max(other, floor))
        if abs(now + usual) < abs(now - usual):
            turned = turned or abs(usual) >= TELLING / 2
        elif abs(usual) >= TELLING:
            return False
    return turned


def _idle(sample: Sample, past: Past, limits: SuspicionLimits) -> bool:
    return not sample.load >= idle_below(past, sample, limits)


def _exchanged(
    pair: Pair, befores: tuple[tuple[Sample, ...], ...], limits: SuspicionLimits
) -> bool:
    """Whether what tells the two apart has changed its sign, and nothing else has changed.

    Only ratios of the two are compared, so a demand that grows for both does not show.
    """
    contrasts = tuple(_contrasts(pair, befores))
    telling = [one for one in contrasts if one.telling]
    if not _turned(contrasts) or len({one.cause for one in telling}) < LEAST_CAUSES:
        return False
    off = statistics.fmean(one.off for one in contrasts)
    crossed = statistics.fmean(one.crossed for one in contrasts)
    common = sum(abs(one.common) for one in telling)
    return (
        off >= limits.swap_distance
        and crossed * limits.swap_clarity < off
        and common < COMMON * sum(abs(one.usual) for one in telling)
    )


def _turned(contrasts: tuple[_Contrast, ...]) -> bool:
    """Whether every trait that tells the two apart is nearer to the exchange."""
    return all(one.crossed < one.off for one in contrasts if one.telling)


def _contrasts(pair: Pair, befores: tuple[tuple[Sample, ...], ...]) -> Iterator[_Contrast]:
    for name, floor in TRAITS.items():
        values = [*(getattr(sample, name) for sample in pair)]
        values += [median(before, name) for before in befores]
        if None not in values:
            one, other, own, others = (math.log(max(value, floor)) for value in values)
            yield _Contrast(
                cause=CAUSES.get(name, name),
                usual=own - others,
                now=one - other,
                common=(one + other - own - others) / 2,
            )


def _moved(pair: Pair, befores: tuple[tuple[Sample, ...], ...], past: Past) -> bool:
    """Whether the load only followed the shares in force, as after a move of the traffic."""
    names = [sample.datacenter for sample in pair]
    if not all(past.shares.get(name, 0.0) > 0 for name in names):
        return False
    measure = load_measure((*pair, *itertools.chain(*befores)))
    now = _part(*(reading(sample, measure) for sample in pair))
    then = _part(*(median(before, measure) or 0.0 for before in befores))
    in_force = _part(*(past.shares[name] for name in names))
    return abs(now - in_force) < abs(then - in_force) - NEARER


def _part(one: float, other: float) -> float:
    return one / (one + other) if one + other > 0 else math.nan
