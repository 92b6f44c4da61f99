"""A tiny world of two data centres for domain tests: facts in, samples out, no randomness."""

from dataclasses import dataclass, replace

from controlplane.domain.services import Cluster, Endpoint, Service, StrategyName
from controlplane.domain.strategies.queue_law import CenterLaw, response_time_ms
from controlplane.domain.strategies.situation import (
    Center,
    Ensemble,
    LearnedModel,
    Network,
    Shares,
    Situation,
)
from controlplane.domain.telemetry import Sample, ServiceWindow, extended
from controlplane.domain.topology import Datacenter, Role

NOW_S = 1_000_000.0
PERIOD_S = 60.0
CYCLE_S = 300.0
LAWS = (
    CenterLaw(base_ms=40.0, contention=0.2, wait_ms=6.0, servers=8.0),
    CenterLaw(base_ms=45.0, contention=0.2, wait_ms=9.0, servers=5.0),
)
CAPACITIES = (80.0, 50.0)
NAMES = ("alpha", "beta", "gamma", "delta")


def centers(
    roles: tuple[Role, ...] = (Role.PRIMARY, Role.SAME_CITY),
    capacities: tuple[float, ...] = CAPACITIES,
) -> tuple[Center, ...]:
    return tuple(
        Center(
            datacenter=Datacenter(name=name, role=role, region="north"),
            cluster=Cluster(
                datacenter=name,
                capacity_rps=capacity,
                endpoints=(Endpoint(address="127.0.0.1", port=9000),),
            ),
        )
        for name, role, capacity in zip(NAMES, roles, capacities, strict=False)
    )


def make_service(strategy: StrategyName = StrategyName.HYBRID, **static_shares: float) -> Service:
    return Service(
        name="tickets",
        clusters=tuple(center.cluster for center in centers()),
        strategy=strategy,
        static_shares=tuple(static_shares.items()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What one period looks like: requests/s in total, capacity and load of its own per centre."""

    total_rps: float = 90.0
    capacity_rps: tuple[float, ...] = CAPACITIES
    own: tuple[float, ...] = (0.0, 0.0)


def utilizations(load: Load, shares: Shares) -> tuple[float, ...]:
    return tuple(
        load.total_rps * share / capacity + own
        for share, capacity, own in zip(shares, load.capacity_rps, load.own, strict=True)
    )


def mean_ms(load: Load, shares: Shares) -> float:
    rho = utilizations(load, shares)
    return float(
        sum(s * response_time_ms(law, u) for s, law, u in zip(shares, LAWS, rho, strict=True))
    )


def observe(load: Load, shares: Shares, time_s: float) -> list[Sample]:
    """One sample per centre, as an honest monitoring would send it."""
    rho = utilizations(load, shares)
    return [
        Sample(
            datacenter=name,
            service="tickets",
            time_s=time_s,
            received_s=time_s,
            response_time_ms=float(response_time_ms(law, use)),
            request_rate_rps=load.total_rps * share,
            cpu_avg=min(use, 1.0),
            cpu_max=min(use * 1.1, 1.0),
            ingress_bandwidth_bps=load.total_rps * share * 8_000,
            memory=0.4,
            disk=0.3,
        )
        for name, law, use, share in zip(NAMES, LAWS, rho, shares, strict=False)
    ]


def history(load: Load, shares: Shares, periods: int = 5, now_s: float = NOW_S) -> ServiceWindow:
    window = ServiceWindow(service="tickets")
    for back in reversed(range(periods)):
        window = extended(window, observe(load, shares, now_s - back * PERIOD_S), keep_s=3600.0)
    return window


def changed(window: ServiceWindow, datacenter: str, **values: float | None) -> ServiceWindow:
    """The window with readings of every sample of one data centre replaced."""
    samples = {
        name: tuple(replace(s, **values) if name == datacenter else s for s in kept)
        for name, kept in window.samples.items()
    }
    return replace(window, samples=samples)


def situation(
    strategy: StrategyName = StrategyName.HYBRID,
    applied: Shares = (0.5, 0.5),
    load: Load = Load(),
    model: LearnedModel | None = None,
) -> Situation:
    return Situation(
        service=make_service(strategy),
        centers=centers(),
        window=history(load, applied),
        applied=applied,
        now_s=NOW_S,
        period_s=PERIOD_S,
        cycle_s=CYCLE_S,
        model=model,
    )


def alone(network: Network) -> Ensemble:
    """An ensemble with one member."""
    return lambda x: network(x)[None]


def law_model(**values: object) -> LearnedModel:
    return replace(LearnedModel(digest="m1", laws=LAWS), **values)  # type: ignore[arg-type]


def codes(notes: tuple[object, ...]) -> list[str]:
    return [note.code for note in notes]  # type: ignore[attr-defined]
