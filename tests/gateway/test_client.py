"""The application's client without a control plane, and beside the real API."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from controlplane.domain.errors import NotFound, Retryable
from controlplane.domain.instances.placement import EVERY_VERSION
from controlplane.domain.services import HealthCheck, RetryPolicy
from gateway.application.lease import Lease
from gateway.application.retrying import Tries
from gateway.application.tally import Outcome
from gateway.client import AsyncClient, Client
from gateway.routing import Question
from tests.gateway.fleet import (
    Instances,
    configured,
    fleet,
    instances,
    keep,
    options,
    service,
)

COUNTS = {"main": 3, "side": 2, "spare": 2, "": 2}
EAST, STANDBY = {"main", "side"}, {"spare", "side"}


@pytest.fixture
async def site() -> AsyncIterator[Instances]:
    async with instances(COUNTS) as made:
        yield made


@contextlib.asynccontextmanager
async def started(folder: Path, site: Instances, **more: object) -> AsyncIterator[AsyncClient]:
    """A client that finds its configuration on disk and no control plane."""
    keep(folder, fleet(service(site.ports)))
    async with AsyncClient(options(folder, **more)) as client:
        yield client


async def fetch(lease: Lease) -> str:
    """One request, as a small application would make it."""
    async with asyncio.timeout(lease.timeout_s):
        where = lease.instance
        reader, writer = await asyncio.open_connection(where.address, where.port)
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        answer = await reader.read()
        writer.close()
    if not answer:
        raise ConnectionResetError("no answer")
    lease.answered(int(answer.split()[1]))
    return answer.rpartition(b"\n")[2].decode()


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not holds():
            await asyncio.sleep(0.01)


async def test_it_starts_from_disk_and_goes_by_the_weights(tmp_path: Path, site: Instances) -> None:
    async with started(tmp_path, site) as client:
        assert client.revision == 1
        found = Counter([await client.call("gates", fetch) for _ in range(100)])
        assert found == pytest.approx({"main": 60, "side": 20, "": 20}, abs=2)
        assert client.find(Question(url="/gates")).service == "gates"


async def test_a_cluster_that_fails_gives_way_and_comes_back(
    tmp_path: Path, site: Instances
) -> None:
    async with started(tmp_path, site) as client:
        site.down.add("main")
        # One request is enough: probes do the rest.
        answers = {await client.call("gates", fetch) for _ in range(6)}
        assert "main" not in answers
        await until(lambda: len(client.out("gates")) == 3)
        site.asked.clear()
        assert {await client.call("gates", fetch) for _ in range(50)} == {"spare", "side", ""}
        assert "main" not in site.asked
        site.down.clear()
        await until(lambda: not client.out("gates"))
        assert "main" in {await client.call("gates", fetch) for _ in range(20)}


async def test_who_is_out_is_asked_by_the_check_that_is_in_force(
    tmp_path: Path, site: Instances
) -> None:
    wrong = HealthCheck(path="/wrong", interval_ms=20, timeout_ms=200)
    keep(tmp_path, fleet(replace(service(site.ports), health_check=wrong)))
    async with AsyncClient(options(tmp_path)) as client:
        site.broken.add("main")
        assert "main" not in {await client.call("gates", fetch) for _ in range(6)}
        await until(lambda: len(client.out("gates")) == 3)
        client._session.directory.configure(configured(fleet(service(site.ports)), revision=2))
        await until(lambda: not client.out("gates"))


async def test_what_answers_503_is_left_out_although_its_probes_pass(
    tmp_path: Path, site: Instances
) -> None:
    async with started(tmp_path, site) as client:
        site.broken.add("main")
        answers = [await client.call("gates", fetch) for _ in range(60)]
        assert "main" not in answers
        assert len(client.out("gates")) == 3
        await asyncio.sleep(0.2)
        assert len(client.out("gates")) == 3


async def test_the_last_failure_is_the_answer(tmp_path: Path, site: Instances) -> None:
    async with started(tmp_path, site) as client:
        site.broken.update(COUNTS)
        assert await client.call("gates", fetch) in COUNTS
        site.down.update(COUNTS)
        with pytest.raises(ConnectionResetError):
            await client.call("gates", fetch)
        # Seven tries for each; one that took too long may not have come in whole.
        assert 12 <= len(site.asked) <= 14
        # An application that has nobody left still tries.
        assert len(client.out("gates")) <= sum(COUNTS.values())


async def test_an_error_of_the_application_says_nothing_about_the_instance(
    tmp_path: Path, site: Instances
) -> None:
    async with started(tmp_path, site) as client:
        for _ in range(20):
            with pytest.raises(KeyError), client.instance("gates"):
                raise KeyError("ours")
        assert client.out("gates") == frozenset()
        assert client._session.directory.doubts() == ()
        with client.instance("gates") as lease:
            lease.answered(500)
        assert lease.outcome is Outcome.SERVED
        assert lease.total_s == 15.0
        assert lease.url == f"http://{lease.instance.name}"


async def test_errors_are_asked_again_where_the_service_says_so(
    tmp_path: Path, site: Instances
) -> None:
    async with started(tmp_path, site) as client:
        tries = Tries(key="", version=EVERY_VERSION, began_s=0.0)
        with client.instance("gates") as lease:
            lease.answered(500)
        assert not tries.again(lease, 0.0)
        lease.service = replace(lease.service, retry=RetryPolicy(attempts=2, server_errors=True))
        for status, is_again in ((500, True), (404, False), (501, False)):
            lease.answered(status)
            assert tries.again(lease, 0.0) is is_again
        # It still says nothing about the instance.
        assert lease.outcome is Outcome.SERVED


async def test_without_any_configuration_it_says_so_and_goes_on(tmp_path: Path) -> None:
    async with AsyncClient(options(tmp_path)) as client:
        assert client.revision == 0
        with pytest.raises(Retryable, match="neither"), client.instance("gates"):
            pass
        with pytest.raises(Retryable):
            client.find(Question(url="/"))


async def test_services_that_are_not_declared_are_told(tmp_path: Path, site: Instances) -> None:
    async with started(tmp_path, site) as client:
        with pytest.raises(NotFound, match="other"), client.instance("other"):
            pass


def test_threads_have_the_same(tmp_path: Path) -> None:
    async def serving(ready: asyncio.Event, found: list[Instances]) -> None:
        async with instances(COUNTS) as made:
            found.append(made)
            ready.set()
            await asyncio.Event().wait()

    async def scene() -> None:
        async with instances(COUNTS) as made:
            keep(tmp_path, fleet(service(made.ports)))
            await asyncio.to_thread(threaded, tmp_path, made)

    asyncio.run(scene())


def threaded(folder: Path, site: Instances) -> None:
    def ask(lease: Lease) -> str:
        answer = http.get(lease.url, timeout=lease.timeout_s)
        lease.answered(answer.status_code)
        return answer.text

    with httpx.Client(trust_env=False) as http, Client(options(folder)) as client:
        assert client.revision == 1
        assert {client.call("gates", ask) for _ in range(30)} == {"main", "side", ""}
        site.down.add("main")
        assert "main" not in {client.call("gates", ask) for _ in range(10)}
        deadline_s = time.monotonic() + 10
        while len(client.out("gates")) < 3 and time.monotonic() < deadline_s:
            time.sleep(0.01)
        site.asked.clear()
        assert {client.call("gates", ask) for _ in range(30)} == {"spare", "side", ""}
        assert "main" not in site.asked
        assert client.find(Question(url="/old")).status == 308
        site.down.update(COUNTS)
        with pytest.raises(httpx.TransportError):
            client.call("gates", ask)
        site.down.clear()
        site.broken.update(COUNTS)
        assert client.call("gates", ask) in COUNTS


def test_a_folder_that_cannot_be_made_is_an_error_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file")
    with pytest.raises(OSError, match="kept"), Client(options(tmp_path)):
        pass
