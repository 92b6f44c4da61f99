"""`signalbox observe`: an observer of its own, at another place than the control plane.

Started by the command line. It asks the control plane what to probe, probes it, and reports what it
sees: each second, and at once when something changed. While the control plane is away it goes on
probing what it was told last. It decides nothing: observers are counted where the reports arrive.
"""

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import structlog

from controlplane import logs
from controlplane.checking import observer_prober
from controlplane.domain.errors import Refused
from controlplane.domain.health.picture import EndpointKey
from controlplane.domain.health.quorum import Opinion
from controlplane.domain.services import CheckKind, HealthCheck

log = structlog.get_logger(__name__)

HEARTBEAT_S = 1.0
# Opinions of a fall come within some milliseconds: one report for most of them.
QUIET_S = 0.01
CALL_S = 2.0
REFUSALS = frozenset({401, 403, 409, 422})


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserveOptions:
    """One observer.

    Attributes:
        url: of the control plane's API.
        token: secret of a token that may send samples and read the configuration.
        commands: programs of command checks, by the name that the fleet gives.
    """

    url: str
    name: str
    token: str = field(repr=False)
    commands: Mapping[str, Sequence[str]] = field(default_factory=dict)


def run(options: ObserveOptions) -> None:
    """Observe until SIGINT or SIGTERM.

    Raises:
        Refused: the control plane does not take this observer: its token or its name.
    """
    logs.configure("console")
    asyncio.run(_until_signal(Observer(options)))


class Observer:
    """Probes, reports, and asks again what to probe when that changed."""

    def __init__(self, options: ObserveOptions) -> None:
        self._options = options
        self._changed = asyncio.Event()
        self._prober = observer_prober(options.commands, self._note, time.time)
        self._following: tuple[int, str] = (-1, "")
        self._away = ""

    async def run(self) -> None:
        """Work until cancelled; the last report says that it leaves."""
        headers = {"Authorization": f"Bearer {self._options.token}"}
        async with httpx.AsyncClient(
            base_url=self._options.url, headers=headers, timeout=CALL_S, trust_env=False
        ) as client:
            try:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._prober.run())
                    tasks.create_task(self._report_for_ever(client))
            finally:
                with contextlib.suppress(httpx.HTTPError):
                    await client.post("/v1/observations", json={**self._body({}), "leaving": True})

    def _note(self, _key: EndpointKey) -> None:
        self._changed.set()

    async def _report_for_ever(self, client: httpx.AsyncClient) -> None:
        while True:
            try:
                await self._report(client)
                if self._away:
                    log.info("observe.control_plane_back")
                self._away = ""
            except httpx.HTTPError as error:
                # An outage of an hour is one line.
                if not self._away:
                    log.warning("observe.control_plane_away", reason=repr(error))
                self._away = repr(error)
            with contextlib.suppress(TimeoutError):
                # Python 3.11's `wait_for` loses a stop that comes with the change.
                async with asyncio.timeout(HEARTBEAT_S):
                    await self._changed.wait()
                await asyncio.sleep(QUIET_S)
            self._changed.clear()

    async def _report(self, client: httpx.AsyncClient) -> None:
        body = self._body(self._prober.opinions())
        taken = _checked(await client.post("/v1/observations", json=body))
        wanted = (taken["generation"], taken["probing"])
        if wanted != self._following:
            params = {"observer": self._options.name}
            told = _checked(await client.get("/v1/health/targets", params=params))
            self._prober.watch(dict(map(_target, told["targets"])), told["stretch"])
            self._following = (told["generation"], told["probing"])
            log.info("observe.targets", endpoints=len(told["targets"]), stretch=told["stretch"])

    def _body(self, opinions: Mapping[EndpointKey, Opinion]) -> dict[str, object]:
        rows = [
            {
                "service": key.service,
                "datacenter": key.datacenter,
                "cluster": key.cluster,
                "address": key.address,
                "port": key.port,
                "state": one.verdict.value,
                "words": one.words[:200],
                "flapping": one.flapping,
            }
            for key, one in opinions.items()
        ]
        return {"observer": self._options.name, "opinions": rows}


def _checked(answer: httpx.Response) -> Any:
    if answer.status_code in REFUSALS:
        raise Refused(
            "observer_refused",
            f"the control plane does not take this observer: {answer.status_code} "
            f"{answer.text[:300]}",
        )
    return answer.raise_for_status().json()


def _target(row: Mapping[str, Any]) -> tuple[EndpointKey, HealthCheck]:
    key = EndpointKey(
        service=row["service"],
        datacenter=row["datacenter"],
        cluster=row["cluster"],
        address=row["address"],
        port=row["port"],
    )
    check = HealthCheck(
        kind=CheckKind(row["kind"]),
        path=row["path"],
        command=row["command"],
        interval_ms=row["interval_ms"],
        timeout_ms=row["timeout_ms"],
        healthy_threshold=row["healthy_threshold"],
        unhealthy_threshold=row["unhealthy_threshold"],
    )
    return key, check


async def _until_signal(observer: Observer) -> None:
    loop = asyncio.get_running_loop()
    running = asyncio.create_task(observer.run())
    for number in (signal.SIGTERM, signal.SIGINT):
        stop: Callable[[], object] = running.cancel
        loop.add_signal_handler(number, stop)
    try:
        await running
    except asyncio.CancelledError:
        return
    except BaseExceptionGroup as group:
        refused, _ = group.split(Refused)
        if refused is None:
            raise
        raise refused.exceptions[0] from None
