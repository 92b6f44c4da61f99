"""Projection: what load and use of each data centre are now, and at other shares.

Read by the strategies and by the envelope's capacity guard, so both see the same facts. CPU and
bandwidth are consequences of the split: a what-if that holds them still asks for an impossible
state (LAB-learning.md section 1). Works on a `Situation`; never fills a missing reading with 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.strategies.queue_law import CenterLaw, utilization
from controlplane.domain.strategies.situation import Center, SharedPool, Situation
from controlplane.domain.telemetry import Sample, ServiceWindow, load_measure, reading

FloatArray = NDArray[np.float64]

# Periods that an average covers: enough to still the noise of one, few enough to see a loss of
# capacity within one cycle.
MEMORY_PERIODS = 4
# Points of the coming cycle at which the load is projected.
HORIZON_POINTS = 5
# Below this part of the load a centre's CPU tells nothing about a larger one.
SMALLEST_PART = 0.01
# From this utilisation on CPU has no room to show more: it is a lower bound.
SATURATED = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class CenterUse:
    """One data centre over the last few periods; NaN is unknown.

    Attributes:
        load: mean load, in requests/s (or bit/s where no rate is reported).
        use: mean utilisation, 0 at idle and 1 at saturation; may pass 1.
        use_per_load: utilisation that one unit of load costs (k_d).
        declared: the same by the declared capacity; NaN where no rate is reported.
        by_cpu: whether CPU told, not the declared capacity.
        standing: the part of `use` by other services of a shared pool, which no move changes.
    """

    load: float
    use: float
    use_per_load: float
    declared: float
    by_cpu: bool
    standing: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class UseByShare:
    """Utilisation of each centre over the coming cycle: `standing + per_share * share`.

    Attributes:
        per_share: if the centre had the whole load, at the most; NaN is unknown.
        standing: by other services of a shared pool.
    """

    per_share: tuple[float, ...] = ()
    standing: tuple[float, ...] = ()

    def at(self, shares: Sequence[float]) -> tuple[float, ...]:
        """Utilisation of each centre at these shares."""
        rows = zip(self.standing, self.per_share, shares, strict=True)
        return tuple(standing + use * share for standing, use, share in rows)

    def known(self, index: int) -> bool:
        """Whether both parts of one centre are."""
        return math.isfinite(self.per_share[index]) and math.isfinite(self.standing[index])


def own_part(use: CenterUse) -> float:
    """Which part of a centre's utilisation is by the service itself: 1 on a pool of its own."""
    return (use.use - use.standing) / use.use if use.standing > 0 and use.use > 0 else 1.0


def recent(situation: Situation, center: Center) -> tuple[Sample, ...]:
    """The samples of the last `MEMORY_PERIODS` periods by the sender's clock, oldest first."""
    return newest_periods(situation.window, center.name, situation.period_s)


def newest_periods(window: ServiceWindow, datacenter: str, period_s: float) -> tuple[Sample, ...]:
    """As `recent`, of a window."""
    history = window.samples.get(datacenter, ())[-MEMORY_PERIODS:]
    if not history:
        return ()
    since_s = history[-1].time_s - MEMORY_PERIODS * period_s
    return tuple(sample for sample in history if sample.time_s > since_s)


def center_uses(situation: Situation, laws: Sequence[CenterLaw] = ()) -> tuple[CenterUse, ...]:
    """Load and use of every data centre, in order.

    Args:
        laws: one per centre: utilisation counts up to the fitted saturation; () is by the
            declared idle and full CPU alone.
    """
    histories = [recent(situation, center) for center in situation.centers]
    measure = load_measure(sample for history in histories for sample in history)
    uses = [
        _center_use(center, history, measure, laws[index] if laws else declared_law(center))
        for index, (center, history) in enumerate(zip(situation.centers, histories, strict=True))
    ]
    # A centre without a share gets no load, whether or not it reports.
    uses = [
        replace(use, load=0.0, use=use.standing) if share <= 0 and not history else use
        for use, history, share in zip(uses, histories, situation.applied, strict=True)
    ]
    total = math.fsum(use.load for use in uses)
    return tuple(_not_of_a_trickle(use, total) for use in uses)


def declared_law(center: Center) -> CenterLaw:
    """A law that knows only the declared CPU range of the pool; its times mean nothing."""
    idle, full = center.cluster.idle_cpu, center.cluster.full_cpu
    return CenterLaw(
        base_ms=1.0,
        contention=0.0,
        wait_ms=0.0,
        servers=1.0,
        idle_cpu=0.0 if idle is None else idle,
        full_cpu=1.0 if full is None else full,
    )


def trusted_laws(situation: Situation) -> tuple[CenterLaw, ...]:
    """The model's law of every centre, primary first; () when the model has none for them."""
    model = situation.model
    if model is None or len(model.laws) != len(situation.centers):
        return ()
    return model.laws


def use_by_share(situation: Situation) -> UseByShare:
    """Utilisation of each centre by its share, at the most of the coming cycle.

    Up to the fitted saturation when there are laws, and never less than the declared CPU range
    and the present load say: a bad model must not make a full centre look idle. A saturated
    centre counts by its declared capacity if that says more. NaN where neither CPU nor a request
    rate tells it.
    """
    by_laws, declared = center_uses(situation, trusted_laws(situation)), center_uses(situation)
    present = math.fsum(use.load for use in declared)
    load = _known_most(float(np.max(projected_loads(situation, by_laws))), present)
    pairs = list(zip(by_laws, declared, strict=True))
    return UseByShare(
        per_share=tuple(load * _known_most(_most_per_load(a), _most_per_load(b)) for a, b in pairs),
        standing=tuple(_known_most(a.standing, b.standing) for a, b in pairs),
    )


def projected_loads(situation: Situation, uses: Sequence[CenterUse]) -> FloatArray:
    """Total load at `HORIZON_POINTS` points of the coming cycle: (points,), in the load's unit.

    The mean load of the last periods follows the model's daily profile p:
    load(t + j) = load(t) / p(t) * p(t + j); without a profile it stays.
    """
    total = math.fsum(use.load for use in uses)
    profile = situation.model.profile if situation.model else ()
    ahead = np.arange(1, HORIZON_POINTS + 1) / HORIZON_POINTS * situation.cycle_s
    if not profile:
        return np.full(HORIZON_POINTS, total)
    middle_s = situation.now_s - MEMORY_PERIODS * situation.period_s / 2
    day_s = situation.day_s
    past = _profile_at(profile, np.array([middle_s]), day_s)[0]
    coming = _profile_at(profile, situation.now_s + ahead, day_s)
    return np.asarray(total / max(past, 1e-6) * coming)


def observed_shares(situation: Situation) -> tuple[float, ...]:
    """Share of the load that each centre had in the newest period; the applied one if unknown."""
    seen = situation.window.shares()
    names = [center.name for center in situation.centers]
    if any(name not in seen for name in names):
        return situation.applied
    return tuple(seen[name] for name in names)


def _center_use(
    center: Center, history: Sequence[Sample], measure: str, law: CenterLaw
) -> CenterUse:
    load = _mean([reading(sample, measure) for sample in history])
    by_rate = measure == "request_rate_rps"
    if center.shared is not None:
        return _shared_use(center.shared, center.cluster.cost, load if by_rate else math.nan)
    declared = 1.0 / center.cluster.capacity_rps if by_rate else math.nan
    pairs = [
        (float(utilization(law, sample.cpu_avg)), reading(sample, measure))
        for sample in history
        if sample.cpu_avg is not None
    ]
    busy, borne = math.fsum(u for u, _ in pairs), math.fsum(rate for _, rate in pairs)
    by_cpu = busy > 0 and borne > 0
    return CenterUse(
        load=load,
        use=busy / len(pairs) if by_cpu else load * declared,
        # The ratio of sums weighs each period by its load: a quiet one is mostly noise.
        use_per_load=busy / borne if by_cpu else declared,
        declared=declared,
        by_cpu=by_cpu,
    )


def _shared_use(pool: SharedPool, cost: float, load: float) -> CenterUse:
    """Only the own part follows the own load; the tenancy has settled what CPU says."""
    standing = pool.use_per_work * pool.others
    use_per_load = pool.use_per_work * cost
    return CenterUse(
        load=load,
        use=standing + load * use_per_load,
        use_per_load=use_per_load,
        declared=math.nan,
        by_cpu=pool.by_cpu,
        standing=standing,
    )


def _not_of_a_trickle(use: CenterUse, total: float) -> CenterUse:
    """By declared capacity where next to no load comes: CPU is then that of other work."""
    if not use.by_cpu or not use.load < SMALLEST_PART * total or math.isnan(use.declared):
        return use
    return replace(use, use=use.load * use.declared, use_per_load=use.declared, by_cpu=False)


def _most_per_load(use: CenterUse) -> float:
    return max(use.use_per_load, use.declared) if use.use >= SATURATED else use.use_per_load


def _known_most(one: float, other: float) -> float:
    """The larger one; the known one when the other is NaN."""
    return float(np.fmax(one, other))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def _profile_at(profile: Sequence[float], time_s: FloatArray, day_s: float) -> FloatArray:
    """The profile at a time of the day (UTC), straight between the middles of its parts."""
    parts = len(profile)
    position = np.mod(time_s, day_s) / day_s * parts - 0.5
    return np.asarray(np.interp(position, np.arange(parts), np.asarray(profile), period=parts))
