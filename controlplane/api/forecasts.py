"""How the intervals of the forecasts hold: on the wire for each service, and as metrics."""

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from controlplane.api.dependencies import ApiServices
from controlplane.api.wire.values import Wire
from controlplane.domain.decisions import Decision
from controlplane.domain.uncertainty import MOST_SCORES, TARGET, Calibration


class ForecastsOut(Wire):
    """Whether forecasts of a service are as sure as they say; `coverage` should be near `level`.

    Both are shares of the last `cycles` forecasts, 288 at most; null before the first.
    """

    level: float
    coverage: float | None
    cycles: int


def forecasts_of(decision: Decision | None) -> ForecastsOut:
    """Of one service, by its newest decision."""
    held = Calibration() if decision is None else decision.state.calibration
    return ForecastsOut(
        level=1.0 - TARGET, coverage=held.coverage, cycles=min(held.judged, MOST_SCORES)
    )


def forecast_families(services: ApiServices) -> Iterator[Metric]:
    """Share of the last intervals that held, of all declared services together and of the worst."""
    family = GaugeMetricFamily(
        "signalbox_interval_coverage",
        "Share of the last 288 intervals of a service that held: of all together, and the lowest.",
        labels=("of",),
    )
    names = (service.name for service in services.fleets.current.fleet.services)
    decisions = (services.loop.decisions.get(name) for name in names)
    judged = [one for one in map(forecasts_of, decisions) if one.coverage is not None]
    if judged:
        cycles = sum(one.cycles for one in judged)
        held = sum(one.cycles * (one.coverage or 0.0) for one in judged)
        family.add_metric(("all",), held / cycles)
        family.add_metric(("lowest",), min(one.coverage or 0.0 for one in judged))
    yield family
