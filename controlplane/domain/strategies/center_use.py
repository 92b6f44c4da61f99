"""What load and use each data centre has now, as its metrics and its queue law say.

Read by the strategies and by `projection`. Works on a `Situation`; never fills a missing reading
with 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from controlplane.domain.strategies.queue_law import CenterLaw, busy_part
from controlplane.domain.strategies.situation import Center, SharedPool, Situation, once
from controlplane.domain.telemetry import Sample, ServiceWindow, load_measure, mean, reading

# Periods that an average covers: enough to still the noise of one, few enough to see a loss of
# capacity within one cycle.
MEMORY_PERIODS = 4
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


@once
def declared_uses(situation: Situation) -> tuple[CenterUse, ...]:
    """Load and use of every data centre, in order, by the declared idle and full CPU alone."""
    return _center_uses(situation, [declared_law(center) for center in situation.centers])


@once
def fitted_uses(situation: Situation) -> tuple[CenterUse, ...]:
    """The same up to the fitted saturation, where the model has a law of every centre."""
    laws = trusted_laws(situation)
    return _center_uses(situation, laws) if laws else declared_uses(situation)


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
    """The model's law of every centre, primary first; () when the model has none for them.

    Laws with names are found by them, also after an exchange of roles; the others by place.
    """
    model = situation.model
    if model is None or not model.laws:
        return ()
    if not model.centers:
        return model.laws if len(model.laws) == len(situation.centers) else ()
    by_name = dict(zip(model.centers, model.laws, strict=True))
    if not all(center.name in by_name for center in situation.centers):
        return ()
    return tuple(by_name[center.name] for center in situation.centers)


@once
def observed_shares(situation: Situation) -> tuple[float, ...]:
    """Share of the load that each centre had in the newest period; the applied one if unknown."""
    seen = window_shares(situation)
    names = [center.name for center in situation.centers]
    if any(name not in seen for name in names):
        return situation.applied
    return tuple(seen[name] for name in names)


@once
def window_shares(situation: Situation) -> dict[str, float]:
    """Share of the load per data centre in the newest period; {} when unknown."""
    return situation.window.shares()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recent:
    """One data centre's last few periods, as its samples have them.

    Attributes:
        load: mean load; NaN without a sample.
        cpu: CPU in the periods that report it, 0..1; `borne`: the sum of their loads.
        by_rate: whether load is the request rate.
        silent: whether there is no sample.
    """

    load: float
    cpu: tuple[float, ...]
    borne: float
    by_rate: bool
    silent: bool


@once
def _recents(situation: Situation) -> tuple[_Recent, ...]:
    histories = [recent(situation, center) for center in situation.centers]
    measure = load_measure(sample for history in histories for sample in history)
    return tuple(_recent(history, measure) for history in histories)


def _recent(history: Sequence[Sample], measure: str) -> _Recent:
    loads = [reading(sample, measure) for sample in history]
    told = [
        (s.cpu_avg, load) for s, load in zip(history, loads, strict=True) if s.cpu_avg is not None
    ]
    return _Recent(
        load=mean(loads),
        cpu=tuple(cpu for cpu, _ in told),
        borne=math.fsum(load for _, load in told),
        by_rate=measure == "request_rate_rps",
        silent=not history,
    )


def _center_uses(situation: Situation, laws: Sequence[CenterLaw]) -> tuple[CenterUse, ...]:
    rows = zip(situation.centers, _recents(situation), laws, situation.applied, strict=True)
    uses = [_center_use(*row) for row in rows]
    total = math.fsum(use.load for use in uses)
    return tuple(_not_of_a_trickle(use, total) for use in uses)


def _center_use(center: Center, last: _Recent, law: CenterLaw, share: float) -> CenterUse:
    use = _use_of(center, last, law)
    # A centre without a share gets no load, whether or not it reports.
    return replace(use, load=0.0, use=use.standing) if share <= 0 and last.silent else use


def _use_of(center: Center, last: _Recent, law: CenterLaw) -> CenterUse:
    load = last.load
    if center.shared is not None:
        return _shared_use(center.shared, center.cluster.cost, load if last.by_rate else math.nan)
    declared = 1.0 / center.cluster.capacity_rps if last.by_rate else math.nan
    busy = math.fsum(busy_part(law, cpu) for cpu in last.cpu)
    by_cpu = busy > 0 and last.borne > 0
    return CenterUse(
        load=load,
        use=busy / len(last.cpu) if by_cpu else load * declared,
        # The ratio of sums weighs each period by its load: a quiet one is mostly noise.
        use_per_load=busy / last.borne if by_cpu else declared,
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
