"""What operators and orchestrators ask the agent: `/metrics`, `/healthz`, `/readyz`."""

import asyncio
from collections.abc import Callable

from aiohttp import web
from prometheus_client import CollectorRegistry, disable_created_metrics, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

STOP_S = 1.0
# The times at which counters were made would be as many series again.
disable_created_metrics()  # type: ignore[no-untyped-call]


class StatusDoor:
    """One port.

    Args:
        unready: why the agent is not ready; "" when it is.
    """

    def __init__(self, registry: CollectorRegistry, unready: Callable[[], str]) -> None:
        self._registry = registry
        self._unready = unready
        self._server: asyncio.Server | None = None
        self._http: web.Server | None = None

    async def start(self, host: str, port: int) -> int:
        """Listen and return the port.

        Raises:
            OSError: the address cannot be had.
        """
        self._http = web.Server(self._handle, access_log=None)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._http, host, port)
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Close the port and its connections."""
        if self._server is not None and self._http is not None:
            self._server.close()
            await self._http.shutdown(STOP_S)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.raw_path.partition("?")[0]
        if path == "/metrics":
            headers = {"content-type": CONTENT_TYPE_LATEST}
            return web.Response(body=generate_latest(self._registry), headers=headers)
        if path == "/healthz":
            return web.Response(text="ok\n")
        if path == "/readyz":
            why = self._unready()
            return web.Response(status=503 if why else 200, text=f"{why or 'ready'}\n")
        return web.Response(status=404, text="ask /metrics, /healthz or /readyz\n")
