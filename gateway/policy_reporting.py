"""Tells the control plane which policies an agent runs, and which it cannot enforce.

Run by `admission_agent`. Reports are for people: nothing here waits for them, and a control plane
that does not answer is told again later.
"""

import asyncio
import contextlib
from collections.abc import Mapping

import httpx
import structlog

from controlplane.domain.errors import Retryable
from gateway.last_good.polling import Source

CALL_S = 5.0
# The control plane forgets who was not heard for an hour.
REPEAT_S = 600.0
RETRY_S = 30.0
MOST_TOLD = 100
LONGEST_REASON = 500

log = structlog.get_logger()


class PolicyReporter:
    """The newest word, sent when it changes and again now and then.

    Args:
        source: where the policies are polled; its identity is who reports.
    """

    def __init__(
        self, source: Source, repeat_s: float = REPEAT_S, retry_s: float = RETRY_S
    ) -> None:
        self._source = source
        self._repeat_s = repeat_s
        self._retry_s = retry_s
        self._body: dict[str, object] | None = None
        self._changed = asyncio.Event()

    def tell(self, version: str, unreadable: Mapping[str, str]) -> None:
        """Take a new word.

        Args:
            version: digest of the section that is in force.
            unreadable: policy -> why it is not enforced here.
        """
        told = [
            {"policy": name[:63], "reason": reason[:LONGEST_REASON]}
            for name, reason in sorted(unreadable.items())[:MOST_TOLD]
        ]
        self._body = {"version": version, "unreadable": told}
        self._changed.set()

    async def run(self) -> None:
        """Report until cancelled."""
        await self._changed.wait()
        async with self._source.http(httpx.Timeout(CALL_S)) as client:
            while True:
                self._changed.clear()
                pause_s = self._repeat_s if await self._reported(client) else self._retry_s
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(pause_s):
                        await self._changed.wait()

    async def _reported(self, client: httpx.AsyncClient) -> bool:
        try:
            headers = self._source.headers()
        except Retryable as error:
            log.warning("policies.not_reported", why=error.message)
            return False
        for url in self._source.urls:
            try:
                answer = await client.post(
                    f"{url}/v1/policies:report", headers=headers, json=self._body
                )
            except (httpx.HTTPError, httpx.InvalidURL):
                continue
            if answer.is_success:
                return True
            log.warning("policies.not_reported", status=answer.status_code)
        return False
