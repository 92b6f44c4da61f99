"""The agent's life: subscribe, keep, and stand in while the control plane is away.

Run by `__main__`. The door of the local server follows the connection: closed while the control
plane answers, be it with a refusal, and open while it does not.
"""

import asyncio
import random

import structlog

from controlplane.domain.errors import ControlPlaneError, Refused
from gateway.last_good.token_file import read_token
from gateway.options import AgentOptions
from gateway.xds_cache.cache import CachedResponse, DiskCache
from gateway.xds_cache.local_ads import LocalAds
from gateway.xds_cache.route_keeper import RouteKeeper
from gateway.xds_cache.upstream import Upstream

log = structlog.get_logger()


class Agent:
    """One agent beside one Envoy."""

    def __init__(self, options: AgentOptions) -> None:
        self._options = options
        self._cache = DiskCache(options.cache)
        self._server = LocalAds(self._cache)
        self._failures = 0
        self._said = ""

    async def run(self) -> None:
        """Work until cancelled.

        Raises:
            Retryable: the port is taken.
            OSError: the folder of the cache cannot be used.
        """
        await asyncio.to_thread(self._cache.load)
        source = self._options.routes
        routes = None if source is None else RouteKeeper(source, self._options.cache)
        if routes is not None:
            await routes.load()
        port = await self._server.start(self._options.listen)
        log.info(
            "agent.started",
            port=port,
            cached={kind.value: r.version for kind, r in self._cache.responses.items()},
        )
        try:
            async with asyncio.TaskGroup() as tasks:
                if routes is not None:
                    tasks.create_task(routes.run())
                while True:
                    pause_s = await self._connection()
                    await asyncio.sleep(pause_s)
        finally:
            await self._server.stop()
            log.info("agent.stopped")

    async def _connection(self) -> float:
        """Live through one connection and return the pause before the next, in seconds."""
        upstream = Upstream(self._options, self._cache.responses)
        try:
            await upstream.connect(await asyncio.to_thread(read_token, self._options.token_file))
            self._connected()
            async for new, nonce in upstream.responses():
                words = self._cache.refusal(new)
                if words is not None:
                    await upstream.refuse(new, nonce, words)
                    continue
                await self._keep(new)
                await upstream.acknowledge(new, nonce)
        except Refused as error:
            # It is there: an Envoy must ask it and not us.
            self._server.close()
            self._say("agent.refused", error)
            return self._options.refused_pause_s
        except ControlPlaneError as error:
            self._server.open()
            self._say("agent.control_plane_away", error)
        finally:
            await upstream.close()
        return self._pause_s()

    def _connected(self) -> None:
        self._failures = 0
        self._said = ""
        self._server.close()
        log.info("agent.connected")

    async def _keep(self, new: CachedResponse) -> None:
        self._cache.remember(new)
        try:
            await asyncio.to_thread(self._cache.store, new.type)
        except OSError as error:
            log.error("cache.not_stored", type=new.type.value, why=str(error))  # noqa: TRY400
            return
        log.info("cache.stored", type=new.type.value, version=new.version)

    def _say(self, event: str, error: ControlPlaneError) -> None:
        # An outage of an hour is one line, not thousands.
        if self._said != error.code:
            log.warning(event, code=error.code, why=error.message)
        self._said = error.code

    def _pause_s(self) -> float:
        doubled_s = self._options.back_off_s * float(2**self._failures)
        pause_s = min(doubled_s, self._options.back_off_max_s)
        self._failures = min(self._failures + 1, 30)
        jitter: float = random.uniform(0.5, 1.0)
        return pause_s * jitter
