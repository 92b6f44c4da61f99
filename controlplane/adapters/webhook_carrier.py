"""Carries webhooks away by HTTP: one request, no redirect, within a deadline.

Joined by `wiring` as the engine's `Carrier`. Must never retry, and never read a long answer.
"""

import asyncio
from collections.abc import Mapping

import httpx

from controlplane.ports.operations import Answer

# Of a receiver's words about why not.
MOST_WORDS = 200
CONNECTIONS = 20


class HttpCarrier:
    """Carrier by httpx.

    Args:
        timeout_s: deadline of the whole exchange, > 0.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._http = httpx.AsyncClient(
            timeout=timeout_s,
            follow_redirects=False,
            # A proxy of the environment would be an address that no setting of ours names.
            trust_env=False,
            headers={"User-Agent": "signalbox"},
            limits=httpx.Limits(max_connections=CONNECTIONS),
        )

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send it once."""
        try:
            async with asyncio.timeout(self._timeout_s):
                async with self._http.stream(
                    "POST", url, content=body, headers=dict(headers)
                ) as response:
                    status = response.status_code
                    words = "" if response.is_success else await _words(response)
        except TimeoutError:
            return Answer(status=0, words=f"no answer within {self._timeout_s:g} s")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return Answer(status=0, words=f"{type(error).__name__}: {error}"[:MOST_WORDS])
        return Answer(status=status, words=words)

    async def close(self) -> None:
        """End all connections."""
        await self._http.aclose()


async def _words(response: httpx.Response) -> str:
    """Status and the beginning of the answer."""
    async for chunk in response.aiter_bytes(MOST_WORDS):
        return f"{response.status_code}: {chunk[:MOST_WORDS].decode(errors='replace')}"
    return str(response.status_code)
