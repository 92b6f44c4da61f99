"""A real Prometheus that is slow, fails, says nothing or nonsense, under a running service."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.acceptance.served import site_in, until
from tests.adapters.test_prometheus_live import BLOCKS
from tests.servers.prometheus import Site as Prometheus
from tests.servers.prometheus import site as prometheus_site

Record = Callable[[str, object], None]
# A period of two seconds; samples are fresh for four. A usual cycle has five periods; here each
# has a decision, so that there are some in the dark.
SETTINGS = {"time_scale": str(1 / 30), "cadence": '{"cycle_s": 60}', "source_timeout_s": "1"}
PERIOD_S = 2.0
CYCLE_S = 5 * PERIOD_S
RANGE = "[4s]"


@dataclass(slots=True, kw_only=True)
class Trouble:
    """What goes wrong, and how it is mended."""

    name: str
    code: str
    begin: Callable[[], object]
    end: Callable[[], object]


@dataclass(slots=True, kw_only=True)
class Scene:
    """The service, its Prometheus, and the longest times to a finding and to its end."""

    api: httpx.AsyncClient
    prometheus: Prometheus
    samples: int = 0
    found_s: list[float] = field(default_factory=list)
    cleared_s: list[float] = field(default_factory=list)

    async def get(self, path: str) -> Any:
        return (await self.api.get(path)).raise_for_status().json()

    async def weights(self) -> dict[str, int]:
        # Before the first snapshot the answer waits for it.
        (only,) = (await self.get("/v1/weights?wait=20"))["weights"]
        return dict(only["weights"])

    async def codes(self) -> set[str]:
        items = (await self.get("/v1/findings?source=metric-source"))["items"]
        return {one["code"] for one in items}

    async def decision(self) -> Any:
        (newest,) = (await self.get("/v1/decisions?service=tickets&limit=1"))["items"]
        return newest

    async def stored(self) -> int:
        return len((await self.get("/v1/services/tickets/samples?since=0"))["items"])

    async def declare(self) -> None:
        document = fleet(self.prometheus.front.url)
        answer = await self.api.put("/v1/fleet", json=document, params={"reason": "test"})
        assert answer.is_success, answer.text


def fleet(url: str) -> dict[str, object]:
    """The documented example's source, its ranges as short as the scrapes here."""
    (source,) = yaml.safe_load(BLOCKS["fleet"])["metric_sources"]
    queries = {name: query.replace("[1m]", RANGE) for name, query in source["queries"].items()}
    clusters = [
        {
            "datacenter": name,
            "capacity_rps": 1_000,
            "endpoints": [{"address": "127.0.0.1", "port": port}],
        }
        for name, port in (("dc-east", 9), ("dc-west", 10))
    ]
    return {
        "datacenters": [
            {"name": "dc-east", "role": "primary", "region": "r1"},
            {"name": "dc-west", "role": "same-city", "region": "r1"},
        ],
        "services": [{"name": "tickets", "strategy": "cpu_equalizer", "clusters": clusters}],
        "metric_sources": [source | {"url": url, "queries": queries}],
    }


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[Prometheus]:
    folder = tmp_path / "prometheus"
    folder.mkdir()
    with prometheus_site(folder, BLOCKS["prometheus.yml"]) as running:
        yield running


@pytest.fixture
async def scene(tmp_path: Path, prometheus: Prometheus) -> AsyncIterator[Scene]:
    site = site_in(tmp_path)
    async with site.serving(**SETTINGS), site.api() as api:
        yield Scene(api=api, prometheus=prometheus)


async def _timed(holds: Callable[[], Awaitable[bool]], what: str) -> float:
    begun_s = time.monotonic()
    await until(holds, what)
    return time.monotonic() - begun_s


async def _settle(scene: Scene) -> None:
    """Weights that were moved by what Prometheus told, and then rest."""
    east, west = scene.prometheus.east, scene.prometheus.west
    east.cpu, west.cpu = 0.75, 0.45
    await scene.declare()
    await until(lambda: _moved(scene), "the hotter data center sheds")
    east.cpu = west.cpu = 0.6
    await until(lambda: _quiet(scene), "no finding stands")


async def _moved(scene: Scene) -> bool:
    return (await scene.weights())["dc-east"] < 5_000


async def _quiet(scene: Scene) -> bool:
    return not await scene.codes()


async def _has(scene: Scene, code: str) -> bool:
    return code in await scene.codes()


async def _rests(scene: Scene) -> bool:
    """Whether the newest decision saw both data centers and had nothing to move."""
    newest = await scene.decision()
    return [note["code"] for note in newest["notes"]] == ["within_deadband"]


async def _decided_blind(scene: Scene, since: str) -> bool:
    newest = await scene.decision()
    blind = {note["code"] for note in newest["notes"]} & {"metrics_stale", "metrics_stopped"}
    return bool(newest["time"] > since and blind)


async def _live_through(scene: Scene, trouble: Trouble) -> None:
    await until(lambda: _rests(scene), "nothing is to be moved")
    seen = await scene.decision()
    await asyncio.to_thread(trouble.begin)
    try:
        scene.found_s.append(await _timed(lambda: _has(scene, trouble.code), trouble.name))
        # What was seen before may have moved something until now.
        await until(lambda: _decided_blind(scene, seen["time"]), "a decision in the dark")
        before, dark = await scene.weights(), await scene.decision()
        # Nobody can see it now.
        scene.prometheus.east.cpu = 0.95
        await until(lambda: _decided_blind(scene, dark["time"]), "another decision in the dark")
        assert await scene.weights() == before, trouble.name
    finally:
        scene.prometheus.east.cpu = 0.6
        await asyncio.to_thread(trouble.end)
    scene.cleared_s.append(await _timed(lambda: _quiet(scene), f"{trouble.name} is over"))
    stored = await scene.stored()
    assert stored >= scene.samples, trouble.name
    scene.samples = stored


def _troubles(prometheus: Prometheus) -> list[Trouble]:
    def answer_with(status: int) -> Callable[[], None]:
        def begin() -> None:
            prometheus.front.error = status

        return begin

    def break_targets(broken: bool) -> Callable[[], None]:
        def act() -> None:
            prometheus.east.broken = prometheus.west.broken = broken

        return act

    def tell_nan(absurd: bool) -> Callable[[], None]:
        def act() -> None:
            prometheus.east.absurd = prometheus.west.absurd = absurd

        return act

    server = prometheus.server
    return [
        Trouble(
            name="slow",
            code="source_timeout",
            begin=lambda: server.send(signal.SIGSTOP),
            end=lambda: server.send(signal.SIGCONT),
        ),
        Trouble(
            name="error status",
            code="source_http_error",
            begin=answer_with(503),
            end=answer_with(0),
        ),
        Trouble(name="gone", code="source_away", begin=server.kill, end=server.start),
        Trouble(
            name="nothing",
            code="source_empty",
            begin=break_targets(True),
            end=break_targets(False),
        ),
        Trouble(
            name="not a number",
            code="source_value_not_finite",
            begin=tell_nan(True),
            end=tell_nan(False),
        ),
    ]


@pytest.mark.timeout(240)
async def test_a_metrics_source_in_trouble_holds_the_weights(
    scene: Scene, record_property: Record
) -> None:
    """1d. A metrics source slow, failing, gone, empty, or NaN: weights hold, findings come and go.

    At a thirtieth of the usual times, and while the unseen load leans to one side.
    """
    await _settle(scene)
    for trouble in _troubles(scene.prometheus):
        await _live_through(scene, trouble)
    record_property("troubles", len(scene.found_s))
    record_property("finding_after_s_at_most", round(max(scene.found_s), 2))
    record_property("cleared_after_s_at_most", round(max(scene.cleared_s), 2))
    record_property("period_s", PERIOD_S)
    assert max(scene.found_s) <= CYCLE_S
    assert max(scene.cleared_s) <= CYCLE_S
