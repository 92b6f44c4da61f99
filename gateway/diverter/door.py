"""Where regional servers tell the use of their database pools: `POST /v1/load`.

`{"datacenter": "dc-north", "pool_use": 0.4}`; what is older than 15 s counts as unknown.
"""

import asyncio
import json

from aiohttp import web

from gateway.diverter.servers import Servers

MOST_BYTES = 4_096
STOP_S = 1.0


class LoadDoor:
    """One port."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._server: asyncio.Server | None = None
        self._http: web.Server | None = None

    async def start(self, host: str, port: int) -> int:
        """Listen and return the port; OSError when the address cannot be had."""
        self._http = web.Server(self._handle, access_log=None)
        self._server = await asyncio.get_running_loop().create_server(self._http, host, port)
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Close the port and its connections."""
        if self._server is not None and self._http is not None:
            self._server.close()
            await self._http.shutdown(STOP_S)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if (request.method, request.path) != ("POST", "/v1/load"):
            return web.Response(status=404, text="tell loads with POST /v1/load\n")
        if (request.content_length or MOST_BYTES + 1) > MOST_BYTES:
            return web.Response(status=413, text=f"give at most {MOST_BYTES} bytes, and say it\n")
        try:
            told = json.loads(await request.read())
            datacenter, pool_use = str(told["datacenter"]), float(told["pool_use"])
        except (ValueError, TypeError, KeyError, RecursionError):
            return web.Response(
                status=422, text='give {"datacenter": "dc-north", "pool_use": 0.4}\n'
            )
        if not 0.0 <= pool_use <= 1.0:
            return web.Response(status=422, text=f"pool_use is {pool_use}: give 0..1\n")
        if not self._servers.told(datacenter, pool_use):
            return web.Response(status=404, text="no server of the service is of that name\n")
        return web.Response(status=204)
