"""/metrics: HTTP exchanges counted here, and the engine's state read at each scrape.

Its registry belongs to one application, so two in one process never mix. Label values are
routes, enums and data planes' names. docs/metrics.md lists every metric.
"""

import asyncio
import time
from collections import Counter as Counts
from collections.abc import Iterator, Sequence

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from controlplane.api.dependencies import ApiServices
from controlplane.api.forecasts import forecast_families
from controlplane.api.ladder import ladder_families
from controlplane.api.metrics.health import health_families
from controlplane.api.metrics.intents import intent_families
from controlplane.api.metrics.jobs import job_families
from controlplane.api.metrics.operations import operation_families
from controlplane.api.metrics.policies import policy_families
from controlplane.api.metrics.sources import source_families
from controlplane.domain.findings import Severity, Source
from controlplane.domain.guardrails.state import Outcome as Verdict
from controlplane.engine.consumers.outcomes import Outcome
from controlplane.engine.publishing.couriers import DeliveryState
from controlplane.ports.outside import PlaneNode

MEDIA_TYPE = CONTENT_TYPE_PLAIN_0_0_4
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
# Long polls last up to a minute, streams longer.
BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)
REST = "rest"
# The times at which counters were made would be as many series again.
disable_created_metrics()  # type: ignore[no-untyped-call]


class HttpMetrics:
    """Counts and durations of exchanges, by route."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "signalbox_http_requests",
            "Exchanges by route, method and status.",
            ("route", "method", "status"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "signalbox_http_request_duration_seconds",
            "Time until the answer was sent whole.",
            ("route",),
            buckets=BUCKETS_S,
            registry=self.registry,
        )


class Measured:
    """ASGI middleware that counts every exchange."""

    def __init__(self, app: ASGIApp, metrics: HttpMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one exchange on and count it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = "500"

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        started = time.perf_counter()
        try:
            await self._app(scope, receive, sending)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if scope["method"] in METHODS else "other"
            self._metrics.requests.labels(route, method, status).inc()
            self._metrics.seconds.labels(route).observe(time.perf_counter() - started)


async def exposition(http: HttpMetrics, services: ApiServices) -> bytes:
    """Everything as Prometheus text."""
    observed = await asyncio.gather(*(courier.nodes() for courier in services.couriers))
    planes = [courier.status.plane for courier in services.couriers]
    nodes = [(REST, services.consumers.nodes(services.instruments.now()))]
    nodes += list(zip(planes, observed, strict=True))
    engine = CollectorRegistry()
    engine.register(_Engine(services, nodes))
    return generate_latest(http.registry) + generate_latest(engine)


class _Engine(Collector):
    """The engine's state as metric families, made for one scrape."""

    def __init__(
        self, services: ApiServices, nodes: Sequence[tuple[str, Sequence[PlaneNode]]]
    ) -> None:
        self._services = services
        self._nodes = nodes

    def collect(self) -> Iterator[Metric]:
        """Every family."""
        yield from self._snapshot()
        yield self._samples()
        yield from source_families(self._services.puller, self._services.instruments.now())
        yield self._outcomes()
        yield from health_families(self._services.health)
        yield from intent_families(self._services.intents)
        yield self._decisions()
        yield CounterMetricFamily(
            "signalbox_late_cycles",
            "Timer cycles that were not settled before the next one was due, or were left out.",
            value=self._services.loop.punctuality.late,
        )
        yield from job_families(self._services.jobs)
        yield from policy_families(self._services)
        yield from operation_families(self._services.operations)
        yield from ladder_families(self._services)
        yield from forecast_families(self._services)
        yield from self._findings()
        yield from self._gateways()
        yield self._deliveries()
        yield from self._store()
        yield from self._stages()

    def _snapshot(self) -> Iterator[Metric]:
        current = self._services.publication.current
        yield GaugeMetricFamily(
            "signalbox_snapshot_revision",
            "Revision of the published snapshot; 0 before the first.",
            value=0 if current is None else current.revision,
        )
        yield GaugeMetricFamily(
            "signalbox_fleet_generation",
            "Generation of the declared fleet; 0 before the first.",
            value=self._services.fleets.current.generation,
        )

    def _samples(self) -> Metric:
        family = CounterMetricFamily(
            "signalbox_samples",
            "Samples by outcome: accepted, suspicious or refused.",
            labels=("outcome",),
        )
        family.add_metric(("accepted",), self._services.intake.accepted)
        family.add_metric(("suspicious",), self._services.intake.suspicious)
        family.add_metric(("refused",), self._services.intake.refused)
        return family

    def _outcomes(self) -> Metric:
        family = CounterMetricFamily(
            "signalbox_client_outcomes",
            "Requests and instances by what became of them, as applications' clients tell.",
            labels=("outcome",),
        )
        for outcome in Outcome:
            family.add_metric((outcome.value,), self._services.outcomes.totals[outcome])
        return family

    def _decisions(self) -> Metric:
        family = CounterMetricFamily(
            "signalbox_decisions", "Decisions by what became of the proposal.", labels=("outcome",)
        )
        for verdict in Verdict:
            family.add_metric((verdict.value,), self._services.loop.outcomes[verdict])
        return family

    def _findings(self) -> Iterator[Metric]:
        findings = self._services.findings
        standing = GaugeMetricFamily(
            "signalbox_findings", "Findings that stand now.", labels=("source", "severity")
        )
        appeared = CounterMetricFamily(
            "signalbox_findings_appeared", "Findings since the start.", labels=("source",)
        )
        now = Counts((one.source, one.observation.severity) for one in findings.standing())
        for source in Source:
            appeared.add_metric((source.value,), findings.appeared[source])
            for severity in Severity:
                standing.add_metric((source.value, severity.value), now[source, severity])
        yield from (standing, appeared)

    def _gateways(self) -> Iterator[Metric]:
        connected = GaugeMetricFamily(
            "signalbox_gateways", "Gateways that are connected.", labels=("plane",)
        )
        behind = GaugeMetricFamily(
            "signalbox_gateways_refusing", "Gateways with a standing refusal.", labels=("plane",)
        )
        acks = CounterMetricFamily(
            "signalbox_gateway_acks", "Configurations acknowledged.", labels=("plane",)
        )
        nacks = CounterMetricFamily(
            "signalbox_gateway_nacks", "Configurations refused.", labels=("plane",)
        )
        for plane, nodes in self._nodes:
            connected.add_metric((plane,), sum(node.connected for node in nodes))
            behind.add_metric((plane,), sum(bool(node.refused) for node in nodes))
            acks.add_metric((plane,), sum(node.acks for node in nodes))
            nacks.add_metric((plane,), sum(node.nacks for node in nodes))
        yield from (connected, behind, acks, nacks)

    def _deliveries(self) -> Metric:
        family = GaugeMetricFamily(
            "signalbox_delivery_state",
            "1 for the state that a data plane is in.",
            labels=("plane", "state"),
        )
        for courier in self._services.couriers:
            for state in DeliveryState:
                here = courier.status.state is state
                family.add_metric((courier.status.plane, state.value), float(here))
        return family

    def _store(self) -> Iterator[Metric]:
        services = self._services
        yield GaugeMetricFamily(
            "signalbox_store_available",
            "1 while the store takes writes, 0 while it is away.",
            value=0 if services.store.away else 1,
        )
        yield CounterMetricFamily(
            "signalbox_store_put_backs",
            "Times that lost files of the database were written back.",
            value=services.store.put_backs,
        )
        waiting = GaugeMetricFamily(
            "signalbox_store_waiting", "What waits in memory for the store.", labels=("kind",)
        )
        waiting.add_metric(("decisions",), services.records.waiting)
        waiting.add_metric(("samples",), services.intake.waiting)
        yield waiting
        yield CounterMetricFamily(
            "signalbox_decision_records_lost",
            "Decisions in force that could not be recorded.",
            value=services.records.lost,
        )

    def _stages(self) -> Iterator[Metric]:
        count = CounterMetricFamily(
            "signalbox_stage_runs", "Runs of a stage by outcome.", labels=("stage", "outcome")
        )
        seconds = CounterMetricFamily(
            "signalbox_stage_duration_seconds",
            "Time spent in a stage by outcome.",
            labels=("stage", "outcome"),
        )
        for (stage, outcome), totals in sorted(self._services.instruments.stages.totals.items()):
            count.add_metric((stage.value, outcome.value), totals.count)
            seconds.add_metric((stage.value, outcome.value), totals.seconds)
        yield from (count, seconds)
