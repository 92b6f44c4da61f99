"""A node that serves flash sales, and nothing else: its life from the first byte to the last.

Run by `__main__`. A process of its own, so that a sale takes no time from the rest of the site.
Without a control plane it goes by the policies and openings that an earlier run left on disk.
"""

import time
from dataclasses import dataclass
from pathlib import Path

import structlog
from prometheus_client import CollectorRegistry, ProcessCollector

from controlplane.domain.admission.policy import Mode
from controlplane.domain.admission.section import Received
from controlplane.domain.errors import Retryable
from gateway.admission.flash_sale.host import SaleHost
from gateway.admission.flash_sale.sale_metrics import SaleMetrics
from gateway.admission.opening_options import OpeningOptions
from gateway.direct_http import DirectServer
from gateway.last_good.policy_file import policy_file
from gateway.last_good.polling import Source
from gateway.last_good.section_keeper import SectionKeeper
from gateway.options import Place
from gateway.state.redis.link import RedisLink, RedisOptions
from gateway.state.shared import in_memory, in_redis
from gateway.status_door import StatusDoor

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class SaleAgentOptions:
    """One node.

    Attributes:
        policies: where policies are polled, and openings asked for.
        folder: where both are kept.
        listen: where buyers come.
        status: where `/metrics`, `/healthz` and `/readyz` are.
        redis: what several nodes share; None remembers alone.
    """

    policies: Source
    folder: Path
    listen: Place
    status: Place
    redis: RedisOptions | None = None


class SaleAgent:
    """One node at work."""

    def __init__(self, options: SaleAgentOptions) -> None:
        self._options = options
        self._link = None if options.redis is None else RedisLink(options.redis)
        state = in_memory(time.monotonic) if self._link is None else in_redis(self._link)
        openings = OpeningOptions(source=options.policies, folder=options.folder)
        self._host = SaleHost(state, openings)
        self._server = DirectServer(self._host.answer)
        self._policies = SectionKeeper[Received](
            "policies", options.policies, policy_file(options.folder), self._take
        )
        registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        registry.register(SaleMetrics(self._host.counters))
        self._status = StatusDoor(registry, self._unready)
        self._configured = False

    async def run(self) -> None:
        """Work until cancelled.

        Raises:
            Retryable: a port is taken.
        """
        await self._policies.load()
        try:
            await self._start()
            await self._policies.run()
        finally:
            await self._server.stop()
            await self._host.close()
            if self._link is not None:
                await self._link.close()
            await self._status.stop()
            log.info("sales.stopped")

    async def _start(self) -> None:
        try:
            status = await self._status.start(*self._options.status)
            port = await self._server.start(*self._options.listen)
        except OSError as error:
            raise Retryable(
                "agent_port_unavailable",
                f"cannot listen: {error}; end what has the port, or give another one as "
                "--listen or --status",
            ) from error
        log.info("sales.started", port=port, status_port=status)

    async def _take(self, found: Received) -> None:
        # A node of sales has nothing behind it that a policy which observes could let through to.
        await self._host.take(
            {
                policy.name: policy.flash_sale
                for policy in found.policies
                if policy.flash_sale is not None and policy.mode is Mode.ENFORCE
            }
        )
        self._configured = True

    def _unready(self) -> str:
        if self._configured:
            return ""
        return "no policies yet: the control plane has not answered, and none are on disk"
