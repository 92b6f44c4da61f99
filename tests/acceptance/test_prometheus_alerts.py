"""The whole chain: a target of a real Prometheus fails, its Alertmanager tells, traffic moves."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import yaml

from benchmarks.free_ports import free_ports
from benchmarks.live_envoy import backend
from tests.acceptance.served import site_in, until
from tests.servers.alertmanager import alertmanager
from tests.servers.prometheus import Server

POLICY: dict[str, Any] = {
    "matchers": [{"label": "alertname", "value": "CenterDown"}],
    "order": {"kind": "failover", "target": {"datacenter": "{datacenter}"}, "return_s": 0},
}


async def test_a_failing_target_of_prometheus_orders_a_failover_and_its_return_ends_it(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """9. (the whole chain) A rule of a real Prometheus fires through a real Alertmanager: the
    intent is made, and taken back when the rule is resolved."""
    site = site_in(tmp_path)
    target, prometheus_port = free_ports(2)
    async with contextlib.AsyncExitStack() as stack:
        enter = stack.enter_async_context
        await enter(backend("east", site.ports.east))
        await enter(backend("west", site.ports.west))
        await enter(site.serving())
        api = await enter(site.api())
        await site.declare(api)
        await api.put("/v1/alert-policies/leave-center", json=POLICY)
        wish = {"name": "alertmanager", "role": "monitor", "reason": "test"}
        token = tmp_path / "alert-token"
        token.write_text((await api.post("/v1/tokens", json=wish)).json()["secret"])
        receiver = f"http://127.0.0.1:{site.ports.api}/v1/alerts"
        alerts = await enter(alertmanager(tmp_path, receiver, token, ("alertname",)))
        await enter(prometheus(tmp_path, prometheus_port, alerts, target))
        await until(lambda: failover(api, "active"), "the rule's failover is in force")
        (intent,) = (await api.get("/v1/intents")).json()["items"]
        assert (intent["author"], intent["target"]["datacenter"]) == ("policy/leave-center", "east")
        await enter(metrics(target))
        await until(lambda: failover(api, "ended"), "the failover is taken back")
        assert len((await api.get("/v1/intents")).json()["items"]) == 1
    record_property("intents_of_the_rule", 1)


async def failover(api: httpx.AsyncClient, state: str) -> bool:
    found = (await api.get("/v1/intents")).json()["items"]
    return any(one["kind"] == "failover" and one["state"] == state for one in found)


@contextlib.asynccontextmanager
async def prometheus(folder: Path, port: int, alerts: str, target: int) -> AsyncIterator[None]:
    """One that looks each second at a target of the data centre east."""
    rule = {"alert": "CenterDown", "expr": "up == 0", "labels": {"severity": "critical"}}
    rules = {"groups": [{"name": "centers", "interval": "1s", "rules": [rule]}]}
    (folder / "rules.yml").write_text(yaml.safe_dump(rules))
    job = {
        "job_name": "centers",
        "static_configs": [{"targets": [f"127.0.0.1:{target}"], "labels": {"datacenter": "east"}}],
    }
    managers = [{"static_configs": [{"targets": [alerts.removeprefix("http://")]}]}]
    config = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(folder / "rules.yml")],
        "alerting": {"alertmanagers": managers},
        "scrape_configs": [job],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    server = Server(folder=folder, port=port)
    await asyncio.to_thread(server.start)
    try:
        yield
    finally:
        server.kill()
        if server.process is not None:
            await asyncio.to_thread(server.process.wait)


@contextlib.asynccontextmanager
async def metrics(port: int) -> AsyncIterator[None]:
    """The target, well again."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            head = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain; version=0.0.4\r\n"
            writer.write(head + b"content-length: 9\r\nconnection: close\r\n\r\nwell 1.0\n")
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", port)
    async with server:
        yield
