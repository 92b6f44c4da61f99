"""One suite of requests (at least 400, generated from the route model, all conditions and nasty spellings included) gets the same decision from our matcher, a real Envoy, a real HAProxy and a real nginx, or the difference is a documented refusal at compile time."""  # noqa: E501

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path

from envoy.config.listener.v3 import listener_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as manager_pb2,
)

from benchmarks.free_ports import free_ports
from benchmarks.live_envoy import envoy, ready
from controlplane.adapters.envoy.bootstrap import BootstrapOptions, render
from controlplane.domain.routing.compiling.grouped_lists import grouped
from controlplane.domain.routing.compiling.prefix_keys import keys
from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.matching.table import Table
from controlplane.domain.routing.precedence import ordered
from controlplane.domain.routing.route import Condition, PathMatchType, Route
from controlplane.domain.snapshot import Content, RoutesSection, Snapshot, assemble
from controlplane.domain.topology import GatewayGroup
from controlplane.ports.outside import Artifact
from tests.adapters.envoy.site import plane
from tests.routing.suite import Case, Suite, answering, suite
from tests.routing.tables import Sent
from tests.servers.proxies import Answer, Client

GROUP = "edge"
# Requests without an id get one by chance; this one belongs to no cohort, like none.
NO_ID = ("x-request-id", "none")


async def test_envoy_decides_as_our_matcher(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    now_s = time.time()
    asked = suite(now_s)
    assert len(asked.cases) >= 400
    async with _serving(asked, now_s, tmp_path) as port:
        different = await asyncio.to_thread(_different, asked, port)
    record_property("envoy_requests", len(asked.cases))
    record_property("envoy_different", len(different))
    assert different == []


async def test_envoy_hands_other_paths_on_to_shorter_keys(tmp_path: Path) -> None:
    now_s = time.time()
    routes = _crowded()
    assert sum(key.hands_on for key in keys(ordered(routes))) == 3
    await _decides(routes, product(CROWDED_PATHS, ("", "1", "4")), now_s, tmp_path)


async def test_envoy_asks_long_lists_in_groups(tmp_path: Path) -> None:
    now_s = time.time()
    routes = _many_templates()
    table = ordered(routes)
    assert sum(len(grouped(table, key.rules).groups) for key in keys(table)) >= 3
    paths = [
        f"{start}{end}{query}"
        for start in (
            *(f"/app/{p}/w{n}" for p in ("x", "men", "w1") for n in range(0, 105, 7)),
            "/app",
        )
        for end in ("", "/", "/tail", "/tail/tail", "/x/y/z")
        for query in ("", "?a=/tail", "?/w3/tail")
    ]
    await _decides(routes, product(paths, ("", "1")), now_s, tmp_path)


async def _decides(
    routes: list[Route], asked: Iterable[tuple[str, str]], now_s: float, folder: Path
) -> None:
    """Envoy has the decisions of our matcher for paths and plans."""
    table = Table.of(routes)
    cases = []
    for path, plan in asked:
        sent = Sent(target=path, headers=(("x-plan", plan),) if plan else ())
        request = sent.read()
        assert isinstance(request, Request)
        found = table.match(request, now_s).route
        wanted = (404, "") if found is None else (200, found.id)
        name = f"{path} {plan}"
        cases.append(
            Case(name=name, tags=frozenset(), sent=sent, status=wanted[0], route=wanted[1])
        )
    suite_of = Suite(routes=tuple(routes), whitelists=(), cases=tuple(cases))
    async with _serving(suite_of, now_s, folder) as port:
        assert await asyncio.to_thread(_different, suite_of, port) == []


def _many_templates() -> list[Route]:
    """Templates with one literal start; of some only requests with a plan, or none of them."""
    template = PathMatchType.PATH_TEMPLATE
    planned = {"conditions": (Condition(name="x-plan", value="1"),)}
    some, few = range(0, 100, 2), (7, 21, 35)
    return [
        *(answering(f"w{n}", f"/app/{{a}}/w{n}", "*", kind=template) for n in range(100)),
        *(answering(f"p{n}", f"/app/{{a}}/w{n}", "*", kind=template, **planned) for n in some),
        *(answering(f"t{n}", f"/app/{{a}}/w{n}/tail", "*", kind=template) for n in some),
        *(answering(f"o{n}", f"/app/{{a}}/w{n}/tail", "*", kind=template, **planned) for n in few),
        answering("men", "/app/men/{b}/tail", "*", kind=template, **planned),
        answering("long", "/app/{a}/{b}/{c}/tail", "*", kind=template),
        answering("men-below", "/app/men/w14", "*"),
        answering("some", "/app/.*/z", "*", kind=PathMatchType.REGULAR_EXPRESSION, **planned),
        answering("app", "/app", "*", methods=("GET",)),
    ]


CROWDED_PATHS = (
    *("/", "/a", "/ax", "/a/b", "/a/bx", "/a/b/c", "/a?x", "/a/b?x=/c", "/exact", "/exact/x"),
    *("/exactly", "/exact?y", "/users/me", "/users/men", "/users/7", "/other"),
)


def _crowded() -> list[Route]:
    """Many routes that may not hold above some that always do."""
    above = [
        answering(f"c{n}", "/", "*", conditions=(Condition(name="x-plan", value=str(n)),))
        for n in range(6)
    ]
    return [
        *above,
        answering("a", "/a", "*"),
        answering("ab", "/a/b", "*"),
        answering("exact", "/exact", "*", kind=PathMatchType.EXACT),
        answering("me", "/users/me", "*", kind=PathMatchType.EXACT),
        answering("user", "/users/{id}", "*", kind=PathMatchType.PATH_TEMPLATE),
    ]


@contextlib.asynccontextmanager
async def _serving(asked: Suite, now_s: float, folder: Path) -> AsyncIterator[int]:
    """A real Envoy with the routes of the suite."""
    listener, admin = free_ports(2)
    one = plane()
    artifact = one.render(_snapshot(asked, now_s, listener))
    # Three of the suite are there to be shadowed.
    told = {note.subject for note in artifact.notes}
    assert told <= {"route/parts-low", "route/parts-second-by-id", "route/closed-rest"}
    await one.apply(_with_ids_of_callers(artifact))
    assert await one.repair() == artifact.notes
    try:
        options = BootstrapOptions(
            node="edge-1",
            group=GROUP,
            control_plane=("127.0.0.1", await one.start()),
            agent=None,
            admin=("127.0.0.1", admin),
        )
        async with envoy(render(options), folder):
            await ready(admin)
            yield listener
    finally:
        await one.stop()


def _snapshot(asked: Suite, now_s: float, port: int) -> Snapshot:
    """As it is published at a time: a route that does not exist then is not in it."""
    routes = RoutesSection(
        gateways=(GatewayGroup(name=GROUP, listen_port=port),),
        routes=tuple(route for route in asked.routes if route.valid(now_s)),
        whitelists=asked.whitelists,
    )
    return replace(assemble(Content(routes=routes)), revision=1)


def _with_ids_of_callers(artifact: Artifact) -> Artifact:
    """Envoy gives each request an id of its own; for the suite it keeps the one that comes."""
    return replace(
        artifact,
        parts=tuple(
            (name, _keeping_ids(data) if name.startswith("listener/") else data)
            for name, data in artifact.parts
        ),
    )


def _keeping_ids(data: bytes) -> bytes:
    message = listener_pb2.Listener.FromString(data)
    packed = message.filter_chains[0].filters[-1].typed_config
    manager = manager_pb2.HttpConnectionManager.FromString(packed.value)
    manager.preserve_external_request_id = True
    packed.value = manager.SerializeToString(deterministic=True)
    return message.SerializeToString(deterministic=True)


def _different(asked: Suite, port: int) -> list[tuple[Case, Answer]]:
    clients: dict[str, Client] = {}
    found = []
    for case in asked.cases:
        sent = case.sent
        client = clients.setdefault(sent.source, Client(port, sent.source or "127.0.0.1"))
        named = "has:request-id" in case.tags
        headers = sent.headers if named else (*sent.headers, NO_ID)
        answer = client.ask(sent.target, sent.method, sent.host, headers)
        same = answer.status == case.status
        if case.status == 200:
            same = same and answer.body == case.route
        if not same:
            found.append((case, answer))
    for client in clients.values():
        client.close()
    return found
