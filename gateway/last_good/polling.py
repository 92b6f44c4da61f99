"""Long polls of one resource of the control plane, with its ETag.

Runs for as long as its client or agent. Must never take anything away: while the control plane is
gone, refuses, or sends what cannot be read, the last good answer stays in force.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import structlog

from controlplane.domain.errors import ControlPlaneError, Invalid, NotFound, Refused, Retryable
from gateway.last_good.token_file import read_token

log = structlog.get_logger()

# What the server may take beyond the wait that it was asked for.
ANSWER_S = 10.0
REFUSALS = frozenset({401, 403})
# The control plane is there, and the fleet has no such gateway group: waiting does not help.
GROUP_UNKNOWN = "gateway_group_not_found"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What is polled, where and as whom.

    Attributes:
        urls: of the control planes' HTTP API, tried in turn.
        token_file: read before each call, so that a token may be rotated.
        identity: `name;group` of a gateway that takes the answer in use; "" is nobody's.
        wait_s: of a long poll.
        back_off_s, back_off_max_s: pause after a failed call, doubled up to the maximum.
    """

    urls: tuple[str, ...]
    path: str
    token_file: Path
    identity: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    connect_s: float = 3.0
    wait_s: float = 30.0
    back_off_s: float = 0.2
    back_off_max_s: float = 5.0

    def __post_init__(self) -> None:
        """Refuse what can never be asked: Invalid, `option_invalid`."""
        for url in self.urls:
            if not _usable(url):
                raise Invalid("option_invalid", f"{url!r} is no API: give http://HOST:PORT")

    def headers(self) -> dict[str, str]:
        """Who asks.

        Raises:
            Retryable: the token cannot be read.
        """
        identity = {"X-Signalbox-Gateway": self.identity} if self.identity else {}
        return {"Authorization": f"Bearer {read_token(self.token_file)}", **identity}

    def http(self, timeout: httpx.Timeout) -> httpx.AsyncClient:
        """A caller of the control planes; it reads no certificates where it needs none."""
        secure = any(url.startswith("https:") for url in self.urls)
        return httpx.AsyncClient(timeout=timeout, verify=secure, trust_env=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """An answer that is not the one before; `tag` is its ETag."""

    body: bytes
    tag: str
    revision: int


# Takes an answer in use; raises Invalid when it cannot be read.
Take = Callable[[Fetched], Awaitable[None]]


class Poller:
    """Hands each new answer on."""

    def __init__(self, source: Source, take: Take) -> None:
        self._source = source
        self._take = take
        self._failures = 0
        self._said = ""
        # Of what is in use; whoever has it from disk sets it before `run`.
        self.tag = ""
        # Why what is asked for is not there, in the control plane's words; "" when it is.
        self.missing = ""
        # The control plane has said that what is in use is the newest.
        self.current = asyncio.Event()

    async def run(self) -> None:
        """Poll until cancelled."""
        timeout = httpx.Timeout(self._source.connect_s, read=self._source.wait_s + ANSWER_S)
        async with self._source.http(timeout) as client:
            while True:
                try:
                    await self._poll(client)
                    self._failures, self._said, self.missing = 0, "", ""
                except ControlPlaneError as error:
                    if isinstance(error, NotFound):
                        self.missing = error.message
                    self._say(error)
                    await asyncio.sleep(self._pause_s())
                except Exception:
                    # One strange answer must not end what runs for as long as the application.
                    log.exception("polling.unexpected", path=self._source.path)
                    self._failures += 1
                    await asyncio.sleep(self._source.back_off_max_s)

    async def _poll(self, client: httpx.AsyncClient) -> None:
        # The next control plane after each failure.
        url = self._source.urls[self._failures % len(self._source.urls)]
        answer = await self._answer(client, url)
        if answer.status_code in REFUSALS:
            raise Refused("control_plane_refuses", f"{url}: {answer.status_code} {answer.text}")
        if answer.status_code == httpx.codes.OK:
            tag = answer.headers.get("ETag", "")
            revision = int(answer.headers.get("X-Signalbox-Revision", "0"))
            await self._take(Fetched(body=answer.content, tag=tag, revision=revision))
            self.tag = tag
        elif answer.status_code != httpx.codes.NOT_MODIFIED:
            raise _no_answer(url, answer)
        self.current.set()

    async def _answer(self, client: httpx.AsyncClient, url: str) -> httpx.Response:
        headers = self._source.headers()
        if self.tag:
            headers["If-None-Match"] = self.tag
        # What came from disk may be old: asked at once whether it is.
        wait_s = self._source.wait_s if self.current.is_set() else 0
        parameters = {**self._source.parameters, "wait": f"{wait_s:g}"}
        try:
            return await client.get(f"{url}{self._source.path}", headers=headers, params=parameters)
        except httpx.HTTPError as error:
            why = f"{url}: {type(error).__name__} {error}"
            raise Retryable("control_plane_away", why) from error

    def _say(self, error: ControlPlaneError) -> None:
        # An outage of an hour is one line, not thousands.
        if self._said != error.code:
            why = error.message[:300]
            log.warning("polling.failed", path=self._source.path, code=error.code, why=why)
        self._said = error.code

    def _pause_s(self) -> float:
        doubled_s = self._source.back_off_s * float(2 ** min(self._failures, 30))
        self._failures += 1
        jitter: float = random.uniform(0.5, 1.0)
        return min(doubled_s, self._source.back_off_max_s) * jitter


def _no_answer(url: str, answer: httpx.Response) -> ControlPlaneError:
    """What an answer means that is neither new nor the old one."""
    if answer.status_code == httpx.codes.NOT_FOUND:
        try:
            problem = answer.json()
            if problem["code"] == GROUP_UNKNOWN:
                return NotFound(GROUP_UNKNOWN, f"{url}: {problem['detail']}")
        except (KeyError, TypeError, ValueError):
            # Some other server's page.
            pass
    return Retryable("control_plane_away", f"{url}: {answer.status_code} {answer.text}")


def _usable(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
