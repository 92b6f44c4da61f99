"""TCP checks: whether a port takes a connection, whatever is spoken over it."""

import asyncio

from controlplane.adapters.checkers.connecting import reason
from controlplane.domain.health.picture import EndpointKey
from controlplane.domain.services import HealthCheck


class TcpChecker:
    """Implements `ports.health.Checker`."""

    async def check(self, endpoint: EndpointKey, check: HealthCheck) -> str:
        """Connect and close."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(check.timeout_ms / 1_000):
                transport, _ = await loop.create_connection(
                    asyncio.Protocol, endpoint.address, endpoint.port
                )
        except (OSError, TimeoutError) as error:
            return reason(error, check)
        transport.abort()
        return ""
