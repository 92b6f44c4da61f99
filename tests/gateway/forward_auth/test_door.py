"""The server that proxies ask, over real connections."""

import asyncio
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx
import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from controlplane.domain.admission.asking import ADMITTED, Decision, Verdict
from controlplane.domain.routing.matching.request import Request
from gateway.admission.enforcing import Ruling
from gateway.forward_auth.door import DoorOptions, ForwardAuthDoor

REFUSED = Ruling(decision=Decision(verdict=Verdict.REFUSE, reason="no", status=418))


@dataclass(slots=True)
class Ruled:
    """Says by path what becomes of a request, as a judge does."""

    seen: list[Request]
    told: frozenset[str] = frozenset()

    async def rule(self, request: Request) -> Ruling:
        self.seen.append(request)
        if request.path == "/fault":
            raise ZeroDivisionError
        if request.path == "/slow":
            await asyncio.sleep(0.2)
        return REFUSED if request.path == "/no" else Ruling(decision=ADMITTED)


@dataclass(slots=True)
class Open:
    door: ForwardAuthDoor
    seen: list[Request]
    url: str
    registry: CollectorRegistry

    async def ask(self, target: str, **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        async with httpx.AsyncClient(trust_env=False) as client:
            return await client.get(f"{self.url}{target}", headers=named)


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    seen: list[Request] = []
    registry = CollectorRegistry()
    door = ForwardAuthDoor(DoorOptions(host="127.0.0.1", port=0), Ruled(seen), registry)
    port = await door.start()
    yield Open(door, seen, f"http://127.0.0.1:{port}", registry)
    await door.stop()


async def test_what_clients_send_through_proxies_is_no_error_here(opened: Open) -> None:
    cookie = "a=" + "x" * 60_000
    assert (await opened.ask("/envoy/" + "x" * 8_000, cookie=cookie)).status_code == 200
    assert opened.seen[0].headers["cookie"] == cookie


async def test_what_has_no_normal_form_is_answered_without_policies(opened: Open) -> None:
    assert (await opened.ask("/envoy/a%2fb")).status_code == 400
    nginx = {"X_Original_Method": "GET", "X_Original_URI": "/a%2fb"}
    word = await opened.ask("/auth-request", **nginx)
    assert word.status_code == 403
    name = word.headers["x-admission-answer"]
    assert (await opened.ask(f"/answers/{name}")).status_code == 400
    # It is fetched once; whoever comes later gets a plain word.
    assert (await opened.ask(f"/answers/{name}")).status_code == 503
    assert opened.seen == []


async def test_a_fault_is_said_and_answered(opened: Open) -> None:
    with capture_logs() as lines:
        assert (await opened.ask("/envoy/fault")).status_code == 503
        nginx = {"X_Original_Method": "GET", "X_Original_URI": "/fault"}
        assert (await opened.ask("/auth-request", **nginx)).status_code == 403
    assert [line["event"] for line in lines] == ["forward_auth.fault"] * 2


async def test_answers_are_counted(opened: Open) -> None:
    for target in ("/envoy/", "/envoy/no", "/envoy/no", "/healthz"):
        await opened.ask(target)
    labels = {"dialect": "envoy", "status": "418"}
    assert opened.registry.get_sample_value("signalbox_agent_answers_total", labels) == 2


async def test_whoever_is_being_answered_when_it_stops_gets_his_answer(opened: Open) -> None:
    asking = asyncio.create_task(opened.ask("/envoy/slow"))
    async with asyncio.timeout(5):
        while not opened.seen:
            await asyncio.sleep(0.01)
    await opened.door.stop()
    assert (await asking).status_code == 200
    with pytest.raises(httpx.ConnectError):
        await opened.ask("/envoy/")


async def test_bytes_that_are_no_http_leave_no_traceback(
    opened: Open, caplog: pytest.LogCaptureFixture
) -> None:
    port = int(opened.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as one:
        one.sendall(b"\x16\x03\x01 no http\r\n\r\n")
        answer = await asyncio.to_thread(one.recv, 100)
    assert answer.startswith((b"HTTP/1.0 400", b"HTTP/1.1 400"))
    assert not caplog.records
