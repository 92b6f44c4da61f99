"""Tells the control plane what became of the requests: `POST /v1/outcomes`.

Runs for as long as its client. Reports are for people and for health elsewhere; what this client
does about a failed instance does not wait for them.
"""

import asyncio

import httpx
import structlog

from controlplane.domain.errors import Retryable
from gateway.application.options import ClientOptions
from gateway.application.tally import Outcome, Place, Tally

CALL_S = 5.0

log = structlog.get_logger()


class Reporter:
    """Sends what was counted, at intervals and once more at the end."""

    def __init__(self, options: ClientOptions, tally: Tally) -> None:
        self._options = options
        self._tally = tally

    async def run(self) -> None:
        """Report until cancelled."""
        async with self._options.source.http(httpx.Timeout(CALL_S)) as client:
            try:
                while True:
                    await asyncio.sleep(self._options.report_s)
                    await self._report(client)
            finally:
                await self._report(client)

    async def _report(self, client: httpx.AsyncClient) -> None:
        """Send what there is; when nobody takes it, it is sent with the next."""
        counts = self._tally.drain()
        if not counts:
            return
        try:
            headers = self._options.source.headers()
            for url in self._options.urls:
                if await _took(client, url, headers, self._body(counts)):
                    return
        except Retryable as error:
            log.warning("client.not_reported", why=error.message)
        self._tally.put_back(counts)

    def _body(self, counts: dict[Place, dict[Outcome, int]]) -> dict[str, object]:
        rows = [
            {
                "service": service,
                "datacenter": datacenter,
                "cluster": cluster,
                **{outcome.value: count for outcome, count in by_outcome.items()},
            }
            for (service, datacenter, cluster), by_outcome in counts.items()
        ]
        return {"client": self._options.name, "outcomes": rows}


async def _took(
    client: httpx.AsyncClient, url: str, headers: dict[str, str], body: dict[str, object]
) -> bool:
    try:
        answer = await client.post(f"{url}/v1/outcomes", headers=headers, json=body)
    except (httpx.HTTPError, httpx.InvalidURL):
        return False
    # What it does not like it will not like the next time either.
    return not answer.is_server_error
