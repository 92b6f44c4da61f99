"""The life of an agent that enforces policies: configuration, shared state, doors, a graceful stop.

Run by `__main__`. Without a control plane it goes by what an earlier run left on disk.
"""

import asyncio
import time

import structlog
from prometheus_client import CollectorRegistry, Gauge, ProcessCollector

from controlplane.domain.admission.section import Received
from controlplane.domain.errors import Retryable
from controlplane.domain.routing.matching.table import Table
from gateway.admission.judging import Judge
from gateway.admission.opening_options import OpeningOptions
from gateway.admission.pipeline import Pipeline
from gateway.admission.registry import MAKERS
from gateway.admission.surroundings import Surroundings
from gateway.admission.watching import CountsAndLines
from gateway.admission_options import AdmissionOptions
from gateway.forward_auth.door import ForwardAuthDoor
from gateway.last_good.policy_file import policy_file
from gateway.last_good.route_file import route_file
from gateway.last_good.section_keeper import SectionKeeper
from gateway.policy_reporting import PolicyReporter
from gateway.proxy_door import ProxyDoor
from gateway.state.redis.link import RedisLink
from gateway.state.shared import in_memory, in_redis
from gateway.status_door import StatusDoor

log = structlog.get_logger()


class AdmissionAgent:
    """One agent."""

    def __init__(self, options: AdmissionOptions) -> None:
        self._options = options
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._link = None if options.redis is None else RedisLink(options.redis)
        self._proxy = None if options.proxy is None else ProxyDoor(options.proxy, self._registry)
        surroundings = Surroundings(
            state=in_memory(time.monotonic) if self._link is None else in_redis(self._link),
            now_s=time.time,
            agent=options.name,
            group=options.group,
            ticket_key=options.ticket_key,
            openings=None
            if options.policies is None
            else OpeningOptions(source=options.policies, folder=options.folder),
            fetch=None if self._proxy is None else self._proxy.fetch,
        )
        self._registry.register(surroundings.pools)
        self._pipeline = Pipeline(MAKERS, surroundings, CountsAndLines(self._registry))
        self._judge = Judge(self._pipeline, options.known, time.time)
        self._policies = SectionKeeper[Received](
            "policies", options.policies, policy_file(options.folder), self._take_policies
        )
        self._reporter = None if options.policies is None else PolicyReporter(options.policies)
        self._routes = SectionKeeper[Table](
            "routes", options.routes, route_file(options.folder), self._judge.take_routes
        )
        self._status = StatusDoor(self._registry, self._unready)
        self._door = (
            None
            if options.door is None
            else ForwardAuthDoor(options.door, self._judge, self._registry)
        )
        self._gauges()

    async def run(self) -> None:
        """Work until cancelled.

        Raises:
            Retryable: a port is taken.
        """
        await self._policies.load()
        await self._routes.load()
        try:
            await self._start()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._policies.run())
                tasks.create_task(self._routes.run())
                if self._reporter is not None:
                    tasks.create_task(self._reporter.run())
                if self._proxy is not None:
                    tasks.create_task(self._proxy.run())
                await asyncio.Event().wait()
        finally:
            await self._stop()

    async def _start(self) -> None:
        try:
            status = await self._status.start(*self._options.status)
            door = None if self._door is None else await self._door.start()
            proxy = None if self._proxy is None else await self._proxy.start(self._judge)
        except OSError as error:
            raise Retryable(
                "agent_port_unavailable",
                f"cannot listen: {error}; end what has the port, or give another one as "
                "--forward-auth, --status or --proxy",
            ) from error
        log.info(
            "agent.started",
            name=self._options.name,
            status_port=status,
            forward_auth_port=door,
            proxy_port=proxy,
            policies=self._policies.revision,
            routes=self._routes.revision,
        )

    async def _stop(self) -> None:
        # The doors first: who is being answered still needs everything behind them.
        if self._door is not None:
            await self._door.stop()
        if self._proxy is not None:
            await self._proxy.stop()
        await self._pipeline.close()
        if self._link is not None:
            await self._link.close()
        await self._status.stop()
        log.info("agent.stopped")

    async def _take_policies(self, found: Received) -> None:
        await self._pipeline.take(found.policies)
        self._judge.configured = True
        self._unreadable.set(len(found.unreadable))
        if self._reporter is not None:
            unreadable = {one.name: one.reason for one in found.unreadable}
            self._reporter.tell(found.version, self._pipeline.not_enforced | unreadable)

    def _unready(self) -> str:
        if self._routes.revision is None and self._routes.missing:
            return f"no routes: {self._routes.missing}"
        if self._proxy is not None and not self._proxy.revision:
            return "no configuration yet: the control plane has not answered, and none is on disk"
        if not self._judge.configured:
            return "no policies yet: the control plane has not answered, and none are on disk"
        return ""

    def _gauges(self) -> None:
        self._unreadable = self._gauge("policies_unreadable", "Policies that cannot be read here.")
        in_force = self._gauge("policies", "Policies that are asked.")
        in_force.set_function(lambda: len(self._pipeline.policies))
        away = self._gauge("shared_state_away", "1 while the Redis does not answer in time.")
        away.set_function(lambda: float(self._link is not None and self._link.away))
        for name, keeper in (("policies", self._policies), ("routes", self._routes)):
            self._keeper_gauges(name, keeper)

    def _keeper_gauges(
        self, name: str, keeper: "SectionKeeper[Received] | SectionKeeper[Table]"
    ) -> None:
        revision = self._gauge(f"{name}_revision", f"Revision of the {name} in force; -1 is none.")
        revision.set_function(lambda: -1 if keeper.revision is None else keeper.revision)

    def _gauge(self, name: str, words: str) -> Gauge:
        return Gauge(f"signalbox_agent_{name}", words, registry=self._registry)
