"""A real Caddy behind its admin API: what it decides, does, refuses and keeps."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from benchmarks.free_ports import free_port
from controlplane.adapters.caddy.plane import CaddyPlane
from controlplane.adapters.caddy.render import CaddyOptions, render
from controlplane.domain.errors import Rejected, Retryable
from controlplane.domain.routing.callers.policies import CONSUMER_HEADER
from controlplane.domain.routing.route import (
    Condition,
    FixedResponse,
    HeaderChanges,
    PathMatch,
    PathMatchType,
    Redirect,
    Rewrite,
    Route,
    TextMatchType,
)
from controlplane.domain.services import LoadBalancing
from controlplane.domain.snapshot import Snapshot
from controlplane.domain.topology import Fleet
from controlplane.ports.outside import Artifact
from tests.servers.echo import echo
from tests.servers.proxies import Client, caddy
from tests.sites.proxied import GROUP, fleet, service, snapshot

EXPRESSION = PathMatchType.REGULAR_EXPRESSION
ALL = Route(id="all", service="web")
ANYTHING = {"handler": "static_response", "status_code": 418}


@dataclass(slots=True, kw_only=True)
class Live:
    """A Caddy without a configuration yet, and the addresses of two data centres."""

    plane: CaddyPlane
    admin: str
    port: int
    east: int
    west: int
    declared: Fleet
    revision: int = 0

    async def publish(self, *routes: Route, east: float = 0.5) -> None:
        self.revision += 1
        declared = replace(self.declared, routes=routes, whitelists=())
        await self.plane.apply(self.plane.render(snapshot(declared, self.revision, east)))

    def told(self, target: str, *headers: tuple[str, str]) -> dict[str, Any]:
        client = Client(self.port)
        answer = client.ask(target, headers=headers)
        client.close()
        assert answer.status == 200, answer
        found: dict[str, Any] = json.loads(answer.body)
        return {**found, "answered": answer.headers}

    def status(self, target: str, *headers: tuple[str, str]) -> int:
        client = Client(self.port)
        answer = client.ask(target, headers=headers)
        client.close()
        return answer.status


@pytest.fixture
def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    port, east, west, admin_port = (free_port() for _ in range(4))
    admin = f"127.0.0.1:{admin_port}"
    plain = service("web", range(east, east + 1), range(west, west + 1))
    declared = replace(
        fleet(port), services=(replace(plain, load_balancing=LoadBalancing.ROUND_ROBIN),)
    )
    plane = _plane(admin)
    monkeypatch.setenv("CADDY_ADMIN", admin)
    with caddy(tmp_path, admin_port, "--config", ""):
        yield Live(plane=plane, admin=admin, port=port, east=east, west=west, declared=declared)


def _plane(admin: str) -> CaddyPlane:
    options = CaddyOptions(group=GROUP, admin=admin)

    def rendered(made: Snapshot, left_out: Mapping[str, str]) -> Artifact:
        return render(made, options, left_out)

    return CaddyPlane(GROUP, admin, rendered)


async def test_weights_count_and_a_dead_address_is_left_alone(live: Live) -> None:
    await live.publish(ALL, east=0.75)
    with echo(live.west):
        with echo(live.east):
            seen = Counter(live.told("/")["port"] for _ in range(100))
            assert seen == {live.east: 75, live.west: 25}
        assert {live.told("/")["port"] for _ in range(8)} == {live.west}


async def test_who_has_no_weight_stands_behind(live: Live) -> None:
    await live.publish(ALL, east=1.0)
    with echo(live.west):
        with echo(live.east):
            assert {live.told("/")["port"] for _ in range(8)} == {live.east}
        assert {live.told("/")["port"] for _ in range(8)} == {live.west}
    assert live.status("/") in {502, 503}


async def test_users_stay_and_data_centres_get_their_shares(live: Live) -> None:
    hashed = replace(live.declared.services[0], load_balancing=LoadBalancing.MAGLEV)
    live.declared = replace(live.declared, services=(hashed,))
    await live.publish(ALL, east=0.75)
    with echo(live.west):
        with echo(live.east):
            asked = [("cookie", f"signalbox_sid={n:02x}00") for n in range(0, 256, 4)]
            first = [live.told("/", one)["port"] for one in asked]
            assert Counter(first) == {live.east: 48, live.west: 16}
            assert [live.told("/", one)["port"] for one in asked] == first
            assert "x-signalbox-who" not in live.told("/", ("x-signalbox-who", "me"))["headers"]
        assert {live.told("/", one)["port"] for one in asked} == {live.west}


async def test_the_service_sees_what_the_route_says(live: Live) -> None:
    moved = Route(
        id="moved",
        service="web",
        path=PathMatch(value="/v1"),
        rewrite=Rewrite(host="api.internal", prefix="/a$1"),
        request_headers=HeaderChanges(set=(("x-plane", "100 {http.request.uri} %"),)),
        response_headers=HeaderChanges(set=(("x-by", "us"),), remove=("x-own",)),
    )
    short = replace(moved, id="short", path=PathMatch(value="/v2"), rewrite=Rewrite(prefix="/"))
    one = Route(id="one", service="web", path=PathMatch(value="/o"), rewrite=Rewrite(path="/one"))
    await live.publish(ALL, moved, short, one)
    with echo(live.east), echo(live.west):
        found = live.told("/v1/b%20c?x=1", (CONSUMER_HEADER, "me"), ("x_consumer", "me"))
        assert found["path"] == "/a$1/b%20c?x=1"
        assert found["headers"]["host"] == "api.internal"
        assert found["headers"]["x-plane"] == "100 {http.request.uri} %"
        assert not {CONSUMER_HEADER, "x_consumer"} & found["headers"].keys()
        number = found["headers"]["x-request-id"]
        assert found["answered"]["set-cookie"].startswith(f"signalbox_sid={number}; ")
        assert found["answered"]["x-by"] == "us"
        assert "x-own" not in found["answered"]
        assert [live.told(path)["path"] for path in ("/v1", "/v2", "/v2/", "/v2/a", "/o/x?y")] == [
            "/a$1", "/", "/", "/a", "/one?y",
        ]  # fmt: skip
        known = live.told("/", ("cookie", "signalbox_sid=abcd"), ("x-request-id", "mine"))
        assert known["headers"]["x-request-id"] == "mine"
        assert "set-cookie" not in known["answered"]


async def test_paths_reach_the_service_in_normal_form(live: Live) -> None:
    await live.publish(ALL)
    with echo(live.east), echo(live.west):
        for sent, seen in (
            ("/a!b('c')*;d/%21?e=%7e//", "/a!b('c')*;d/%21?e=%7e//"),
            ("/a!b/%7Ec/./d//%e4%2a", "/a!b/~c/d/%E4%2A"),
            ("/%61/../b!c", "/b!c"),
            ("/" + "a/" * 16 + "../" * 16 + "b", "/b"),
        ):
            assert live.told(sent)["path"] == seen
    assert live.status("/" + "a/" * 20 + "../" * 20 + "b") == 400
    assert live.status("/" + "a" * 8_191) != 414
    assert live.status("/" + "a" * 8_192) == 414


async def test_redirects_and_answers(live: Live) -> None:
    old = Route(id="old", path=PathMatch(value="/old"), redirect=Redirect(status=308, path="/new"))
    secure = Route(id="s", path=PathMatch(value="/s"), redirect=Redirect(scheme="https"))
    body = 'a {http.request.uri} \\{b\\} "$1"'
    told = Route(id="t", path=PathMatch(value="/t"), response=FixedResponse(status=200, body=body))
    await live.publish(old, secure, told)
    client = Client(live.port)
    assert client.ask("/old/x?a=b", host="h:1").headers["location"] == "http://h:1/new?a=b"
    assert client.ask("/s//x", host="h").headers["location"] == "https://h/s/x"
    assert client.ask("/t").body == body
    assert client.ask("/none").status == 404
    client.close()


async def test_what_guards_and_cannot_be_compared_lets_nobody_in(live: Live) -> None:
    bad = PathMatch(type=EXPRESSION, value="/x(?=y)")
    lookahead = Condition(name="x-a", type=TextMatchType.REGULAR_EXPRESSION, value="a(?!b)")
    await live.publish(
        Route(id="also", service="web", path=PathMatch(type=EXPRESSION, value="y")),
        Route(id="open", service="web", path=PathMatch(value="/open")),
        Route(id="denied", path=bad, response=FixedResponse()),
        Route(
            id="kept", path=PathMatch(value="/k"), conditions=(lookahead,), authentication=("k",)
        ),
        Route(id="same", service="web", path=bad),
        Route(id="lost", service="web", path=PathMatch(type=EXPRESSION, value="/z(?=y)")),
        Route(id="k", service="web", path=PathMatch(value="/k")),
    )
    assert [live.status(path) for path in ("/k/a", "/xy", "/else")] == [403, 403, 403]
    with echo(live.east), echo(live.west):
        assert live.status("/open") == 200
    notes = {note.subject: note for note in await live.plane.repair()}
    assert notes.keys() == {f"route/{name}" for name in ("denied", "kept", "lost", "same")}
    assert notes["route/lost"].held == "the route is left out"
    assert notes["route/denied"].held == "everybody gets 403 at its host, path and methods"
    assert "invalid or unsupported Perl syntax" in notes["route/kept"].message


async def test_an_older_revision_is_refused_also_by_another_writer(live: Live) -> None:
    live.revision = 4
    await live.publish(ALL)
    assert [(n.connected, n.revision) for n in await live.plane.observe()] == [(True, 5)]
    other = _plane(live.admin)
    declared = replace(live.declared, routes=(ALL,), whitelists=())
    with pytest.raises(Rejected, match="not newer"):
        await other.apply(other.render(snapshot(declared, 4)))
    await other.apply(other.render(snapshot(declared, 6, 0.3)))
    with pytest.raises(Rejected, match="not newer"):
        await live.plane.repair()


async def test_a_change_by_hand_is_taken_back(live: Live) -> None:
    await live.publish(Route(id="a", response=FixedResponse(status=200, body="a")))
    async with httpx.AsyncClient(base_url=f"http://{live.admin}/config/") as hand:
        await hand.put("apps/http/servers/signalbox/routes/0", json={"handle": [ANYTHING]})
        assert live.status("/") == 418
        await live.plane.repair()
        assert live.status("/") == 200
        await hand.delete("apps")
        await live.plane.repair()
        assert live.status("/") == 200


async def test_a_caddy_that_starts_anew_gets_the_newest(live: Live, tmp_path: Path) -> None:
    await live.publish(Route(id="a", response=FixedResponse(status=200, body="a")))
    port, admin = free_port(), free_port()
    away = _plane(f"127.0.0.1:{admin}")
    made = away.render(snapshot(replace(live.declared, gateways=(_group(port),)), 2))
    assert [node.connected for node in await away.observe()] == [False]
    with pytest.raises(Retryable, match="does not answer"):
        await away.apply(made)
    folder = tmp_path / "other"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CADDY_ADMIN", f"127.0.0.1:{admin}")
        for _ in range(2):
            with caddy(folder, admin, "--config", ""):
                assert [node.revision for node in await away.observe()] == [0]
                await (away.repair() if away._in_force else away.apply(made))
                assert [node.revision for node in await away.observe()] == [2]


def _group(port: int) -> Any:
    return replace(fleet().gateways[0], listen_port=port)
