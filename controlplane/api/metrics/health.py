"""Health as metric families: endpoints by state, data centres, observers, probes."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from controlplane.domain.health.picture import ObserverState
from controlplane.domain.health.states import CenterState, EndpointState
from controlplane.engine.health.watch import HealthWatch


def health_families(health: HealthWatch) -> Iterator[Metric]:
    """Every family; names of services and endpoints stay out of labels."""
    picture = health.picture
    yield _states(
        "signalbox_endpoints",
        "Endpoints by state.",
        Counter(one.state for one in picture.endpoints().values()),
        EndpointState,
    )
    yield _states(
        "signalbox_datacenters",
        "Data centres by state.",
        Counter(one.state for one in picture.centers.values()),
        CenterState,
    )
    yield _states(
        "signalbox_observers",
        "Observers by whether their word counts.",
        Counter(one.state for one in picture.observers),
        ObserverState,
    )
    yield GaugeMetricFamily(
        "signalbox_health_held",
        "1 while too few observers can be believed to change anything.",
        value=int(picture.held),
    )
    yield GaugeMetricFamily(
        "signalbox_services_all_down",
        "Services of which no endpoint looks well anywhere.",
        value=sum(one.all_down for one in picture.services.values()),
    )
    yield CounterMetricFamily(
        "signalbox_endpoint_state_changes",
        "Changes of state of endpoints since the start.",
        value=health.changes,
    )
    yield from _probes(health)


def _states(
    name: str,
    words: str,
    counts: Counter[str],
    states: type[EndpointState | CenterState | ObserverState],
) -> Metric:
    family = GaugeMetricFamily(name, words, labels=("state",))
    for state in states:
        family.add_metric((state.value,), counts[state])
    return family


def _probes(health: HealthWatch) -> Iterator[Metric]:
    prober = health.observers.prober
    family = CounterMetricFamily(
        "signalbox_probes", "Probes of the control plane itself.", labels=("outcome",)
    )
    counts = (0, 0, 0) if prober is None else (prober.asked, prober.failed, prober.late)
    asked, failed, late = counts
    family.add_metric(("passed",), asked - failed - late)
    family.add_metric(("failed",), failed)
    family.add_metric(("late",), late)
    yield family
    yield GaugeMetricFamily(
        "signalbox_probe_stretch",
        "Intervals of probes in terms of those declared; 1 while there is room.",
        value=health.observers.plan.stretch,
    )
