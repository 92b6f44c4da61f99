"""The life of the diverter: configuration, doors, ticks, a graceful stop.

Run by `python -m gateway divert`. Without a control plane it goes by what is on disk.
"""

import asyncio
import json
import time
from collections.abc import Iterator, Mapping

import structlog
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from controlplane.domain import canonical
from controlplane.domain.admission.policy import Mode, Policy, PolicyKind
from controlplane.domain.admission.section import Received
from controlplane.domain.errors import Invalid, Retryable
from controlplane.domain.snapshot import EndpointsSection, ServiceEndpoints
from gateway.diverter.door import LoadDoor
from gateway.diverter.options import DiverterOptions
from gateway.diverter.servers import Servers
from gateway.diverter.station import Counts, Post, Station
from gateway.last_good.policy_file import policy_file
from gateway.last_good.section_file import SectionFile
from gateway.last_good.section_keeper import SectionKeeper
from gateway.status_door import StatusDoor

log = structlog.get_logger()
MAGIC = b"signalbox-config-1 "
FILE_NAME = "config.section"
Services = Mapping[str, ServiceEndpoints]


class Diverter:
    """One diverter."""

    def __init__(self, options: DiverterOptions) -> None:
        self._options = options
        self._servers = Servers(time.monotonic)
        self._counts = Counts()
        self._post: Post | None = None
        self._policies = SectionKeeper[Received](
            "policies", options.policies, policy_file(options.folder), self._take_policies
        )
        file = SectionFile(options.folder / FILE_NAME, MAGIC, services_of)
        self._endpoints = SectionKeeper[Services](
            "endpoints", options.configuration, file, self._take_services
        )
        registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        registry.register(Told(self._servers, self._counts))
        self._status = StatusDoor(registry, self._unready)
        self._loads = LoadDoor(self._servers)
        self._server: asyncio.Server | None = None

    async def run(self) -> None:
        """Work until cancelled.

        Raises:
            Retryable: a port is taken.
        """
        await self._policies.load()
        await self._endpoints.load()
        try:
            await self._start()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._policies.run())
                tasks.create_task(self._endpoints.run())
                tasks.create_task(self._ticks())
        finally:
            await self._stop()

    async def _start(self) -> None:
        loop = asyncio.get_running_loop()
        host, port = self._options.listen
        try:
            status = await self._status.start(*self._options.status)
            loads = await self._loads.start(*self._options.loads)
            self._server = await loop.create_server(
                self._made, host, port, backlog=self._options.backlog
            )
        except OSError as error:
            raise Retryable(
                "agent_port_unavailable",
                f"cannot listen: {error}; end what has the port, or give another one as "
                "--listen, --status or --loads",
            ) from error
        port = int(self._server.sockets[0].getsockname()[1])
        log.info("diverter.started", port=port, status_port=status, loads_port=loads)

    async def _stop(self) -> None:
        if self._server is not None:
            self._server.close()
        await self._loads.stop()
        await self._status.stop()
        log.info("diverter.stopped")

    async def _ticks(self) -> None:
        while True:
            await asyncio.sleep(self._servers.policy.tick_s)
            self._servers.tick()

    def _made(self) -> asyncio.Protocol:
        post = self._post or Post.of(self._options.service, self._servers, self._counts)
        return Station(post)

    async def _take_policies(self, found: Received) -> None:
        policy = next((one for one in found.policies if self._ours(one)), None)
        if policy is None:
            log.warning("diverter.no_policy", service=self._options.service)
            return
        self._servers.policy = policy.spec
        self._post = Post.of(self._options.service, self._servers, self._counts)

    def _ours(self, policy: Policy) -> bool:
        services = policy.attachment.services
        return (
            policy.kind is PolicyKind.REGIONAL_OVERFLOW
            and policy.mode is not Mode.OFF
            and (not services or self._options.service in services)
        )

    async def _take_services(self, found: Services) -> None:
        service = found.get(self._options.service)
        if service is None:
            log.warning("diverter.no_service", service=self._options.service)
            return
        self._servers.take(service)

    def _unready(self) -> str:
        if self._post is None:
            return f"no policy of the kind regional_overflow covers {self._options.service} yet"
        if not self._servers.by_center:
            return f"service {self._options.service} has no endpoints yet"
        return ""


class Told(Collector):
    """Counts as Prometheus reads them."""

    def __init__(self, servers: Servers, counts: Counts) -> None:
        self._servers = servers
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        """Every family."""
        served = CounterMetricFamily(
            "signalbox_diverter_connections",
            "Connections given to a server; one that was given again counts again.",
            labels=("region", "datacenter"),
        )
        for key, count in list(self._counts.served.items()):
            served.add_metric(key, count)
        yield served
        dropped = CounterMetricFamily(
            "signalbox_diverter_dropped", "Connections that were ended.", labels=("reason",)
        )
        for reason, count in list(self._counts.dropped.items()):
            dropped.add_metric((reason,), count)
        yield dropped
        yield CounterMetricFamily(
            "signalbox_diverter_resent",
            "Messages that were given to another server, because the first did not answer.",
            value=self._counts.resent,
        )
        yield from self._gauges()

    def _gauges(self) -> Iterator[Metric]:
        loads = GaugeMetricFamily(
            "signalbox_diverter_load", "B of a server.", labels=("datacenter",)
        )
        for datacenter, found in self._servers.loads().items():
            loads.add_metric((datacenter,), found)
        yield loads
        away = GaugeMetricFamily(
            "signalbox_diverter_away", "Share of a region that goes elsewhere.", labels=("region",)
        )
        for region, share in self._servers.away.items():
            away.add_metric((region,), share)
        yield away


def services_of(body: bytes) -> Services:
    """Services of a configuration by name; Invalid when it is none.

    Only its endpoints are read: a diverter that is older than its control plane needs no more.
    """
    try:
        endpoints = json.dumps(json.loads(body)["endpoints"]).encode()
    except (ValueError, KeyError, TypeError) as error:
        raise Invalid(
            "stored_value_unreadable", f"cannot read endpoints from {len(body)} bytes: {error}"
        ) from error
    section = canonical.decode(EndpointsSection, endpoints)
    return {one.service: one for one in section.services}
