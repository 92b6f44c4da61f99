"""Zones on Envoy: who may connect, and what cannot be kept to them."""

from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from controlplane.adapters.envoy.render import Renderer
from controlplane.domain.routing.route import L4Protocol, L4Route
from controlplane.domain.routing.zones import Zone
from controlplane.domain.topology import Fleet
from tests.adapters.envoy.site import GROUP, SMALL, fleet, running, snapshot

UDP = L4Route(id="dns", service="web", port=5_353, protocol=L4Protocol.UDP)
TCP = L4Route(id="db", service="web", port=5_432)


def zoned(declared: Fleet, *sources: str) -> Fleet:
    groups = tuple(replace(group, zone="inner") for group in declared.gateways)
    return replace(declared, gateways=groups, zones=(Zone(name="inner", sources=sources),))


def listeners(declared: Fleet) -> list[str]:
    parts = Renderer().render(snapshot(declared, 1)).parts
    return [name for name, _ in parts if name.startswith("listener/")]


def test_udp_cannot_be_kept_to_sources_and_is_left_out() -> None:
    routes = replace(SMALL, l4_routes=(TCP, UDP))
    assert len(listeners(zoned(routes))) == 3
    assert len(listeners(zoned(routes, "10.0.0.0/8"))) == 2
    notes = Renderer().render(snapshot(zoned(routes, "10.0.0.0/8"), 1)).notes
    assert [(note.code, note.subject) for note in notes] == [
        ("l4_route_without_sources", "l4_route/dns")
    ]
    assert GROUP in notes[0].message
    elsewhere = replace(routes, l4_routes=(replace(UDP, gateways=("elsewhere",)),))
    assert Renderer().render(snapshot(zoned(elsewhere, "10.0.0.0/8"), 1)).notes == ()


async def test_who_does_not_belong_to_the_sources_gets_no_answer(tmp_path: Path) -> None:
    async with running(tmp_path) as live:
        assert (await live.get("/")).status_code == 200
        usual = fleet(live.services, live.routes, live.listener)
        for revision, (source, passes) in enumerate(
            [("10.9.0.0/16", False), ("127.0.0.0/8", True)], start=2
        ):
            wanted = zoned(usual, "2001:db8::/32", source)
            await live.plane.apply(live.plane.render(snapshot(wanted, revision)))
            await until(f"http://127.0.0.1:{live.listener}/", passes)


async def until(url: str, passes: bool) -> None:
    """Each time over a new connection, for at most some seconds."""
    for _ in range(200):
        async with httpx.AsyncClient(trust_env=False) as client:
            try:
                answered = (await client.get(url)).status_code == 200
            except httpx.TransportError:
                answered = False
        if answered is passes:
            return
    pytest.fail(f"{url} still answers: {answered}")
