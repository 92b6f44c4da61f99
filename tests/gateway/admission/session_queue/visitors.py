"""Browsers at a session queue in memory, whose time is told."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from controlplane.domain.admission.asking import Asked, Verdict
from controlplane.domain.admission.policy import Mode, Policy
from controlplane.domain.admission.session_queue.policy import SessionQueuePolicy
from controlplane.domain.admission.session_queue.tickets import cookie_name
from controlplane.domain.routing.matching.request import Request
from gateway.admission.enforcing import Ruling
from gateway.admission.session_queue.queue import SessionQueue
from gateway.admission.surroundings import Surroundings
from gateway.state.shared import SharedState, in_memory

COOKIE = cookie_name("seats")


@dataclass(slots=True, kw_only=True)
class Site:
    """A queue, the state behind it and the time."""

    policy: SessionQueuePolicy
    mode: Mode = Mode.ENFORCE
    clock: list[float] = field(default_factory=lambda: [1_700_000_000.0])
    state: SharedState | None = None
    key: bytes = b""
    queue: SessionQueue = field(init=False)

    def __post_init__(self) -> None:
        self.state = self.state or in_memory(lambda: self.clock[0])
        self.queue = self.agent(self.policy)

    def agent(self, policy: SessionQueuePolicy, state: SharedState | None = None) -> SessionQueue:
        """One more agent."""
        assert self.state is not None
        around = Surroundings(
            state=state or self.state,
            now_s=lambda: self.clock[0],
            agent="a",
            group="edge",
            ticket_key=self.key,
        )
        return SessionQueue(Policy(name="seats", mode=self.mode, session_queue=policy), around)

    def passes(self, seconds: float) -> None:
        self.clock[0] += seconds


@dataclass(slots=True, kw_only=True)
class Browser:
    """Somebody with a jar for one cookie."""

    site: Site
    source: str = "192.0.2.1"
    ticket: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def asked(self, path: str = "/", **headers: str) -> Asked:
        shown = {"cookie": f"{COOKIE}={self.ticket}"} if self.ticket else {}
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        request = Request(path=path, headers={**self.headers, **shown, **given}, source=self.source)
        return Asked(request=request, now_s=self.site.clock[0])

    async def get(self, path: str = "/", **headers: str) -> Ruling:
        """One request; a cookie is kept."""
        return self.keep(await self.site.queue.rule(self.asked(path, **headers)))

    def keep(self, ruling: Ruling) -> Ruling:
        for name, value in ruling.response_headers:
            if name == "set-cookie":
                self.ticket = value.partition("=")[2].partition(";")[0]
        return ruling

    async def position(self) -> int:
        """0 is inside."""
        ruling = await self.get()
        if ruling.decision.verdict is Verdict.ADMIT:
            return 0
        position = ruling.decision.details["position"]
        assert isinstance(position, int)
        return position


def told(ruling: Ruling) -> Any:
    """The JSON of an answer."""
    assert ruling.answer is not None
    return json.loads(ruling.answer.body)


@asynccontextmanager
async def site(**changes: Any) -> AsyncIterator[Site]:
    """A site with a pool of one."""
    usual = SessionQueuePolicy(initial_size=1)
    made = Site(policy=replace(usual, **changes))
    yield made
    await made.queue.close()
