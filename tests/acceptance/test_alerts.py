"""Alerts that move traffic by themselves, on a real Alertmanager, control plane and Envoy."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
from standardwebhooks.webhooks import Webhook

from benchmarks.live_envoy import backend, ready
from tests.acceptance.served import NODE, Site, in_force, site_in, until
from tests.servers.alertmanager import alertmanager

ALERTS = 1_000
MOVED_S = 2.0
POLICIES: dict[str, dict[str, Any]] = {
    "leave-center": {
        "matchers": [{"label": "alertname", "value": "CenterDown"}],
        "order": {
            "kind": "failover",
            "target": {"datacenter": "{datacenter}"},
            "return_s": 0,
        },
    },
    "hold-service": {
        "matchers": [{"label": "alertname", "value": "Unsteady"}],
        "order": {"kind": "freeze", "target": {"service": "{service}"}},
    },
}


async def test_an_alert_moves_traffic_and_a_storm_makes_one_intent_for_each_target(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """9. Time from alert webhook to traffic moved below 2 s; an alert storm (1,000 alerts in a
    minute) causes at most one intent per target.

    The alerts go through a real Alertmanager, so its part of the time counts, too.
    """
    site = site_in(tmp_path)
    async with contextlib.AsyncExitStack() as stack:
        enter = stack.enter_async_context
        await enter(backend("east", site.ports.east))
        await enter(backend("west", site.ports.west))
        await enter(site.serving())
        api = await enter(site.api())
        await site.declare(api)
        await enter(site.agent())
        await enter(site.envoy())
        await until(lambda: in_force(api, NODE), "the gateway runs it")
        await ready(site.ports.admin)
        alerts = await enter(alertmanagers_client(stack, site, api))
        moved_s = await moved_after(site, alerts, fire(1, "CenterDown"))
        record_property("alert_to_traffic_moved_s", round(moved_s, 3))
        assert moved_s < MOVED_S
        await storm(api, alerts)
        await until(lambda: ordered(api, 2), "both targets have an intent")
        counts = Counter(one["target"]["datacenter"] for one in await intents(api))
        record_property("intents_per_target_in_a_storm", max(counts.values()))
        assert counts == {"east": 1, "": 1}
        await resolved(api, alerts)


@contextlib.asynccontextmanager
async def alertmanagers_client(
    stack: contextlib.AsyncExitStack, site: Site, api: httpx.AsyncClient
) -> Any:
    """A client of an Alertmanager whose receiver is the control plane."""
    for name, policy in POLICIES.items():
        written = await api.put(f"/v1/alert-policies/{name}", json=policy)
        assert written.is_success, written.text
    wish = {"name": "alertmanager", "role": "monitor", "reason": "test"}
    token = site.folder / "alert-token"
    token.write_text((await api.post("/v1/tokens", json=wish)).json()["secret"])
    receiver = f"http://127.0.0.1:{site.ports.api}/v1/alerts"
    url = await stack.enter_async_context(
        alertmanager(site.folder, receiver, token, ("alertname", "instance"))
    )
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=30.0) as client:
        yield client


def fire(count: int, name: str, *, over: bool = False) -> list[dict[str, Any]]:
    """Alerts as Prometheus posts them, each of another instance."""
    now_s = time.time()
    ends = {"endsAt": stamp(now_s - 0.1)} if over else {}
    return [
        {
            "labels": {
                "alertname": name,
                "datacenter": "east",
                "service": "tickets",
                "instance": f"east-{number}",
            },
            "annotations": {"summary": "no answer"},
            "startsAt": stamp(now_s - 5.0),
            **ends,
        }
        for number in range(count)
    ]


def stamp(time_s: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time_s))


class Users:
    """New users one after another; `east_s` is when the last one was answered by east."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/"
        self.east_s = 0.0
        self.answers: Counter[str] = Counter()

    @contextlib.asynccontextmanager
    async def coming(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._come())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _come(self) -> None:
        async with httpx.AsyncClient(trust_env=False) as client:
            while True:
                answer = await client.get(self._url)
                # The next one is another user: nothing keeps him where this one was.
                client.cookies.clear()
                self.answers[answer.text] += 1
                if answer.text == "east":
                    self.east_s = time.perf_counter()
                await asyncio.sleep(0.002)

    def are_everywhere(self) -> bool:
        return min(self.answers["east"], self.answers["west"]) >= 20


async def moved_after(site: Site, alerts: httpx.AsyncClient, fired: list[dict[str, Any]]) -> float:
    """Seconds from the alert to the last answer from east."""
    users = Users(site.ports.listener)
    async with users.coming():
        await until(users.are_everywhere, "users are in both data centres")
        started_s = time.perf_counter()
        await alerts.post("/api/v2/alerts", json=fired)
        await until(lambda: time.perf_counter() > users.east_s + 1.0, "nobody goes east")
    assert set(users.answers) == {"east", "west"}
    assert users.east_s > started_s
    return users.east_s - started_s


async def storm(api: httpx.AsyncClient, alerts: httpx.AsyncClient) -> None:
    """A thousand alerts of two rules, each in a group of its own: a thousand messages."""
    started_s = time.perf_counter()
    for name in ("CenterDown", "Unsteady"):
        answer = await alerts.post("/api/v2/alerts", json=fire(ALERTS // 2, name))
        assert answer.is_success, answer.text
    await until(lambda: firing(api, ALERTS), "all alerts have come")
    assert time.perf_counter() - started_s < 60.0


async def resolved(api: httpx.AsyncClient, alerts: httpx.AsyncClient) -> None:
    """The end of the last alert takes the intents back."""
    for name in ("CenterDown", "Unsteady"):
        await alerts.post("/api/v2/alerts", json=fire(ALERTS // 2, name, over=True))
    await until(lambda: firing(api, 0), "all alerts are over")
    await until(lambda: all_ended(api), "no intent stands")


async def ordered(api: httpx.AsyncClient, count: int) -> bool:
    return len(await intents(api)) >= count


async def firing(api: httpx.AsyncClient, count: int) -> bool:
    found = (await api.get("/v1/alerts", params={"limit": 1_000})).json()["items"]
    return len(found) == count


async def all_ended(api: httpx.AsyncClient) -> bool:
    return all(one["state"] == "ended" for one in await intents(api))


async def intents(api: httpx.AsyncClient) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await api.get("/v1/intents")).json()["items"]
    return found


async def test_an_alert_is_told_in_a_timeline_and_by_signed_webhooks(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """9. (told afterwards) The incident of an alert says what fired, what was ordered by whom and
    what changed where; an incident platform gets signed messages."""
    site = site_in(tmp_path)
    receiver = Receiver()
    async with (
        backend("east", site.ports.east),
        backend("west", site.ports.west),
        receiver.running() as origin,
        site.serving(webhook_origins=f'["{origin}"]'),
        site.api() as api,
    ):
        await site.declare(api)
        await until(lambda: published(api), "the fleet is published")
        hook = {"url": f"{origin}/hook", "events": ["intent.changed", "incident.opened"]}
        secret = (await api.put("/v1/webhooks/pager", json=hook)).json()["secret"]
        await api.put("/v1/alert-policies/leave-center", json=POLICIES["leave-center"])
        alert = {"status": "firing", **fire(1, "CenterDown")[0]}
        told = await api.post("/v1/alerts", json={"version": "4", "alerts": [alert]})
        assert told.json()["intents"] == ["failover-1"]
        await until(lambda: receiver.kinds(secret) >= TOLD, "the platform is told")
        name = (await incident(api))[0]["name"]
        await until(lambda: in_timeline(api, name, "snapshot"), "the move is in the timeline")
        entries = (await api.get(f"/v1/incidents/{name}/timeline")).json()["entries"]
    kinds = [one["kind"] for one in entries]
    assert {"alert", "audit", "intent", "snapshot", "incident"} <= set(kinds)
    words = "\n".join(f"{one['who']}: {one['what']}" for one in entries)
    assert "1 firing, 0 resolved: CenterDown" in words
    assert "policy/leave-center: failover is active" in words
    assert "tickets: east=6000 west=4000 -> east=0 west=10000" in words
    record_property("timeline_entries", len(entries))
    record_property("signed_messages", len(receiver.messages))


TOLD = {"intent.changed", "incident.opened"}


class Receiver:
    """An incident platform: keeps what it is sent, checks it with the standard's own library."""

    def __init__(self) -> None:
        self.messages: list[tuple[dict[str, str], bytes]] = []

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        async with server:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    def kinds(self, secret: str) -> set[str]:
        """Types of the messages; raises when one is not signed as it should be."""
        checked = Webhook(secret)
        return {checked.verify(body, head)["type"] for head, body in self.messages}

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[1:-2]
                pairs = (line.split(": ", 1) for line in lines)
                head = {name.lower(): value for name, value in pairs}
                body = await reader.readexactly(int(head["content-length"]))
                self.messages.append((head, body))
                writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
                await writer.drain()
        writer.close()


async def in_timeline(api: httpx.AsyncClient, name: str, kind: str) -> bool:
    entries = (await api.get(f"/v1/incidents/{name}/timeline")).json()["entries"]
    return any(one["kind"] == kind and "west=10000" in one["what"] for one in entries)


async def published(api: httpx.AsyncClient) -> bool:
    return bool((await api.get("/v1/gateways")).json()["revision"])


async def incident(api: httpx.AsyncClient) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await api.get("/v1/incidents")).json()["items"]
    return found
