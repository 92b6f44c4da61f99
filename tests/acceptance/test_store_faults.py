"""The database's disk fills, refuses and loses files under a running service in front of Envoy."""

import asyncio
import contextlib
import shutil
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from benchmarks.live_envoy import backend, ready
from models import storage
from tests.acceptance.faulty_disk import FaultyDisk, faulty_disk, serving_on
from tests.acceptance.served import (
    GROUP,
    NODE,
    Load,
    Site,
    fleet,
    in_force,
    site_in,
    until,
)
from tests.acceptance.watchers import (
    AdsCaller,
    Watcher,
    long_poll,
    poll,
    readiness,
    running,
    stream,
    subscribe,
)
from tests.model_artifacts import artifact

DATABASE = "signalbox.db"
FILES = (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm")
HELD_S = 1.0
WITHIN_S = 20.0


@dataclass(slots=True, kw_only=True)
class Writer:
    """Writes, and remembers what was acknowledged."""

    api: httpx.AsyncClient
    site: Site
    tokens: list[str] = field(default_factory=list)
    timeout_ms: int = 1000
    acknowledged: int = 0

    async def token(self) -> httpx.Response:
        """Issue a token."""
        name = f"t{len(self.tokens)}"
        answer = await self.api.post(
            "/v1/tokens", json={"name": name, "role": "viewer", "reason": "r" * 500}
        )
        if answer.is_success:
            self.acknowledged += 1
            self.tokens.append(answer.json()["id"])
        return answer

    async def fleet(self) -> httpx.Response:
        """Change the fleet; what was acknowledged is in force at Envoy soon."""
        document = fleet(self.site.ports)
        (service,) = document["services"]  # type: ignore[misc]
        service["timeout_ms"] = self.timeout_ms + 1  # type: ignore[index]
        answer = await self.api.put("/v1/fleet", json=document, params={"reason": "test"})
        if answer.is_success:
            self.acknowledged += 1
            self.timeout_ms += 1
        return answer

    async def model(self) -> httpx.Response:
        """Register a model."""
        return await self.api.post("/v1/models", content=storage.to_bytes(artifact()))

    async def intact(self) -> None:
        """Everything that was acknowledged is there."""
        found = (await self.api.get("/v1/tokens")).json()["items"]
        assert set(self.tokens) <= {token["id"] for token in found}
        declared = (await self.api.get("/v1/fleet")).json()
        assert declared["services"][0]["timeout_ms"] == self.timeout_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One way to lose the store, and its repair; `reasons` are what a refusal may name."""

    name: str
    reasons: set[str]
    strike: Callable[[FaultyDisk], None]
    repair: Callable[[FaultyDisk], None]


def _data(disk: FaultyDisk) -> Path:
    return disk.inside / "data"


def _delete(disk: FaultyDisk, names: tuple[str, ...] = FILES) -> None:
    for name in names:
        (_data(disk) / name).unlink(missing_ok=True)


def _delete_on_a_full_disk(disk: FaultyDisk) -> None:
    disk.fill()
    _delete(disk)
    disk.fill()


def _replace(disk: FaultyDisk, other: bytes) -> None:
    data = _data(disk)
    (data / "other.db").write_bytes(other)
    (data / DATABASE).rename(data / "original.db")
    (data / "other.db").rename(data / DATABASE)


def _original_back(disk: FaultyDisk) -> None:
    data = _data(disk)
    (data / "original.db").rename(data / DATABASE)


def _other_deleted(disk: FaultyDisk) -> None:
    _delete(disk, (DATABASE, "original.db"))


def _nothing(_: FaultyDisk) -> None:
    """The service repairs it by itself."""


def faults(older: bytes) -> list[Fault]:
    """In this order on one site; `older` is the content of an earlier database."""
    gone, replaced = {"file_gone"}, {"file_replaced"}
    return [
        Fault(name="full", reasons={"full"}, strike=FaultyDisk.fill, repair=FaultyDisk.free),
        Fault(
            name="read_only",
            reasons={"read_only"},
            strike=lambda disk: disk.set_mode("read-only"),
            repair=lambda disk: disk.set_mode(""),
        ),
        Fault(name="deleted", reasons=gone, strike=_delete, repair=_nothing),
        Fault(
            name="log_deleted",
            reasons=gone,
            strike=lambda disk: _delete(disk, FILES[1:]),
            repair=_nothing,
        ),
        Fault(
            name="deleted_on_a_full_disk",
            reasons=gone | {"full"},
            strike=_delete_on_a_full_disk,
            repair=FaultyDisk.free,
        ),
        Fault(
            name="replaced_by_an_empty_file",
            reasons=replaced,
            strike=lambda disk: _replace(disk, b""),
            repair=_original_back,
        ),
        Fault(
            name="replaced_by_an_older_state",
            reasons=replaced,
            strike=lambda disk: _replace(disk, older),
            repair=_other_deleted,
        ),
    ]


async def _until_refused(writer: Writer) -> httpx.Response:
    """Write until it is refused; what is acknowledged before must be kept."""
    async with asyncio.timeout(WITHIN_S):
        while (answer := await writer.token()).is_success:
            pass
    return answer


async def _refusals(writer: Writer, fault: Fault) -> None:
    first = await _until_refused(writer)
    answers = [first, await writer.fleet(), await writer.model(), await writer.token()]
    for answer in answers:
        assert answer.status_code == 503, f"{fault.name}: {answer.text}"
        assert int(answer.headers["retry-after"]) >= 1
        content = answer.json()
        assert content["code"] == "store_unavailable"
        assert content["details"]["reason"] in fault.reasons, f"{fault.name}: {content}"


async def _goes_on(api: httpx.AsyncClient) -> None:
    """Reads answer, samples are taken, and everybody can see what is wrong."""
    paths = ("config", "weights", "routes", "gateways", "services", "decisions", "audit", "tokens")
    for path in paths:
        answer = await api.get(f"/v1/{path}")
        assert answer.is_success, f"{path}: {answer.text}"
    sample = {"service": "tickets", "datacenter": "east", "request_rate_rps": 9.0}
    answer = await api.post("/v1/samples", json={"samples": [sample | {"response_time_ms": 20.0}]})
    assert answer.json()["accepted"] == 1, answer.text
    ready = await api.get("/readyz")
    assert ready.is_success
    assert "store is away" in ready.text
    assert "signalbox_store_available 0.0" in (await api.get("/metrics")).text


async def _found(api: httpx.AsyncClient) -> bool:
    items = (await api.get("/v1/findings")).json()["items"]
    return any(item["code"] == "store_unavailable" for item in items)


async def _strike(disk: FaultyDisk, writer: Writer, fault: Fault) -> float:
    """The fault from its beginning to its end; how long after the repair writes go on, in s."""
    assert (await writer.fleet()).is_success
    fault.strike(disk)
    await _refusals(writer, fault)
    await until(lambda: _found(writer.api), f"{fault.name}: a finding")
    if fault.repair is not _nothing:
        await _goes_on(writer.api)
        await asyncio.sleep(HELD_S)
        assert not (await writer.token()).is_success
    fault.repair(disk)
    began = time.monotonic()
    async with asyncio.timeout(WITHIN_S):
        while not (await writer.token()).is_success:
            await asyncio.sleep(0.05)
    took_s = time.monotonic() - began
    async with asyncio.timeout(WITHIN_S):
        while await _found(writer.api):
            await asyncio.sleep(0.05)
    await writer.intact()
    assert (await writer.fleet()).is_success
    await until(lambda: in_force(writer.api, NODE), f"{fault.name}: Envoy has the change after it")
    return took_s


@contextlib.asynccontextmanager
async def _site(site: Site, disk: FaultyDisk) -> AsyncIterator[httpx.AsyncClient]:
    """The service on the disk, its backends and an Envoy that has its configuration."""
    ports = site.ports
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(backend("east", ports.east))
        await stack.enter_async_context(backend("west", ports.west))
        await stack.enter_async_context(_serving(site, disk))
        api = await stack.enter_async_context(site.api())
        await site.declare(api)
        await stack.enter_async_context(site.envoy())
        await ready(ports.admin)
        await until(lambda: in_force(api, NODE), "Envoy is current")
        yield api


def _serving(site: Site, disk: FaultyDisk) -> contextlib.AbstractAsyncContextManager[object]:
    settings = {
        "SIGNALBOX_HTTP_PORT": str(site.ports.api),
        "SIGNALBOX_ADS_PORT": str(site.ports.ads),
    }
    return serving_on(disk, settings, site.folder / "serve.log")


def _watching(site: Site, token: str) -> tuple[list[Watcher], list[Awaitable[None]]]:
    url = f"http://127.0.0.1:{site.ports.api}"
    ads = AdsCaller(ads=("127.0.0.1", site.ports.ads), node="watcher", group=GROUP, token=token)
    names = ("poll", "long poll", "stream", "readiness", "ads")
    watchers = [Watcher(name=name) for name in names]
    works = [
        start(watcher, url, token)
        for start, watcher in zip((poll, long_poll, stream, readiness), watchers, strict=False)
    ]
    return watchers, [*works, subscribe(watchers[-1], ads)]


@pytest.mark.timeout(150)
async def test_a_store_that_fails_stops_writes_and_nothing_else(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """3. Full, read-only, deleted or replaced under the service: reads and Envoy go on.

    Writes answer 503 with the reason, no acknowledged write is lost, and after the repair all is
    well without restart.
    """
    site = site_in(tmp_path)
    load = Load(f"http://127.0.0.1:{site.ports.listener}")
    async with faulty_disk(tmp_path / "disk", "12m") as disk:
        async with _site(site, disk) as api:
            writer = Writer(api=api, site=site)
            older = _copy(disk, tmp_path / "older.db")
            token = api.headers["authorization"].removeprefix("Bearer ")
            watchers, works = _watching(site, token)
            async with load.running(), running(*works):
                for fault in faults(older):
                    took_s = await _strike(disk, writer, fault)
                    record_property(f"{fault.name}_writes_again_after_s", round(took_s, 2))
        assert [problem for watcher in watchers for problem in watcher.problems] == []
        assert [watcher.name for watcher in watchers if watcher.cuts or not watcher.answers] == []
        async with _serving(site, disk):
            writer.api = httpx.AsyncClient(base_url=str(api.base_url), headers=api.headers)
            async with writer.api:
                await until(lambda: _ready(writer.api), "it starts again")
                await writer.intact()
    assert load.failed == []
    record_property("acknowledged_writes_kept", writer.acknowledged)
    record_property("requests", load.sent)
    record_property("failed_requests", len(load.failed))


async def _ready(api: httpx.AsyncClient) -> bool:
    return (await api.get("/readyz")).is_success


def _copy(disk: FaultyDisk, path: Path) -> bytes:
    """A consistent copy of the database as it is now."""
    for name in FILES:
        shutil.copy(_data(disk) / name, path.with_name(path.name + name.removeprefix(DATABASE)))
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()
