"""Long polls of `/v1/config`: the newest configuration, kept on disk, taken in use.

Runs for as long as its client. Must never take a configuration away: while the control plane is
gone, refuses, or sends what cannot be read, the last good one stays in force.
"""

import asyncio
import random

import httpx
import structlog

from controlplane.domain.errors import ControlPlaneError, Refused, Retryable
from gateway.client_options import ClientOptions
from gateway.directory import Directory
from gateway.last_good import LastGood, configuration

log = structlog.get_logger()

# What the server may take beyond the wait that it was asked for.
ANSWER_S = 10.0
REFUSALS = frozenset({401, 403})


class Poller:
    """Brings configurations from the control planes to a directory."""

    def __init__(self, options: ClientOptions, directory: Directory, file: LastGood) -> None:
        self._options = options
        self._directory = directory
        self._file = file
        self._failures = 0
        self._said = ""
        # In use when the first configuration is.
        self.ready = asyncio.Event()

    async def run(self) -> None:
        """Poll until cancelled."""
        async with httpx.AsyncClient(timeout=self._timeout(), trust_env=False) as client:
            while True:
                try:
                    await self._poll(client)
                    self._failures, self._said = 0, ""
                except ControlPlaneError as error:
                    self._say(error)
                    await asyncio.sleep(self._pause_s())

    async def _poll(self, client: httpx.AsyncClient) -> None:
        # The next control plane after each failure.
        url = self._options.urls[self._failures % len(self._options.urls)]
        headers = self._options.headers()
        if self._directory.tag:
            headers["If-None-Match"] = self._directory.tag
        # What came from disk may be old: asked at once whether it is.
        wait_s = self._options.wait_s if self._directory.tag and self.ready.is_set() else 0
        try:
            answer = await client.get(f"{url}/v1/config", headers=headers, params={"wait": wait_s})
        except httpx.HTTPError as error:
            raise Retryable("control_plane_away", f"{url}: {type(error).__name__} {error}") from (
                error
            )
        if answer.status_code in REFUSALS:
            raise Refused("control_plane_refuses", f"{url}: {answer.status_code} {answer.text}")
        if answer.status_code == httpx.codes.OK:
            await self._take(answer)
        elif answer.status_code != httpx.codes.NOT_MODIFIED:
            raise Retryable("control_plane_away", f"{url}: {answer.status_code} {answer.text}")
        self.ready.set()

    async def _take(self, answer: httpx.Response) -> None:
        body, tag = answer.content, answer.headers.get("ETag", "")
        revision = int(answer.headers.get("X-Signalbox-Revision", "0"))
        made = await asyncio.to_thread(configuration, body, tag, revision, self._options.group)
        self._directory.configure(made)
        log.info("client.configured", revision=revision)
        try:
            await asyncio.to_thread(self._file.store, body, tag, revision)
        except OSError as error:
            log.error("client.not_stored", why=str(error))  # noqa: TRY400

    def _timeout(self) -> httpx.Timeout:
        connect_s = self._options.connect_s
        return httpx.Timeout(connect_s, read=self._options.wait_s + ANSWER_S)

    def _say(self, error: ControlPlaneError) -> None:
        # An outage of an hour is one line, not thousands.
        if self._said != error.code:
            log.warning("client.last_good_in_force", code=error.code, why=error.message[:300])
        self._said = error.code

    def _pause_s(self) -> float:
        doubled_s = self._options.back_off_s * float(2 ** min(self._failures, 30))
        self._failures += 1
        jitter: float = random.uniform(0.5, 1.0)
        return min(doubled_s, self._options.back_off_max_s) * jitter
