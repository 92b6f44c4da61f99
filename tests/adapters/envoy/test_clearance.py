"""What the local Envoy refuses is left out; everything else is served."""

import asyncio
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from envoy.config.route.v3 import route_pb2

from controlplane.adapters.envoy.clearance import Clearance, ClearanceOptions
from controlplane.adapters.envoy.preflight import Preflight, find_envoy
from controlplane.adapters.envoy.refusal_file import RefusalFile
from controlplane.adapters.envoy.render import Renderer
from controlplane.domain.errors import Rejected, Retryable
from controlplane.domain.findings import Observation, Severity
from controlplane.domain.routing.route import (
    Condition,
    L4Route,
    PathMatch,
    PathMatchType,
    Route,
    TextMatchType,
)
from controlplane.domain.routing.whitelist import Whitelist
from controlplane.domain.topology import Fleet, GatewayGroup
from controlplane.ports.outside import Artifact
from tests.adapters.envoy.site import SMALL, prefix, service, snapshot


def regex(name: str, value: str, target: str = "web") -> Route:
    match = PathMatch(type=PathMatchType.REGULAR_EXPRESSION, value=value)
    return Route(id=name, service=target, path=match, hosts=(f"{name}.example",))


def made(declared: Fleet, revision: int = 1) -> Artifact:
    return Renderer().render(snapshot(declared, revision))


def with_routes(*routes: Route) -> Fleet:
    return replace(SMALL, routes=(*SMALL.routes, *routes))


def served(artifact: Artifact) -> set[str]:
    return {f"route/{r.id}" for r in artifact.snapshot.content.routes.routes} | {
        name for name, _ in artifact.parts if not name.startswith("route/")
    }


def subjects(found: tuple[Observation, ...]) -> dict[str, str]:
    return {one.subject: one.code for one in found}


def binary(folder: Path, script: str) -> Path:
    """An "Envoy" that judges the file it is given as the script says."""
    path = folder / "envoy"
    path.write_text(f'#!/bin/sh\nfile="$4"\n{script}\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def clearance(chosen: Path | None, search_s: float = 4.0, file: Path | None = None) -> Clearance:
    options = ClearanceOptions(
        preflight=Preflight(binary=chosen), search_s=search_s, refusals=RefusalFile(path=file)
    )
    return Clearance(options)


MUTE = (
    'if grep -q "poison" "$file"; then '
    "echo \"error initializing configuration 'x': no words for it\"; exit 1; fi"
)


async def test_what_re2_alone_refuses_is_named_and_left_out() -> None:
    one = clearance(find_envoy())
    declared = with_routes(
        regex("ahead", "/a(?=b)"),
        regex("back", r"/(a)\1"),
        regex("long", "/[a-zA-Z0-9]{1,1000}/[a-zA-Z0-9]{1,1000}"),
        regex("good", "/[0-9]+"),
    )
    artifact = made(declared)
    cleared = await one.clear(artifact)
    found = one.observations(artifact)
    assert subjects(found) == dict.fromkeys(
        ["route/ahead", "route/back", "route/long"], "item_refused"
    )
    assert "invalid perl operator: (?=" in found[0].message
    assert served(made(declared)) - served(cleared) == set(subjects(found))
    assert cleared.revision == 1


async def test_a_bad_whitelist_or_l4_route_is_left_out_alone(tmp_path: Path) -> None:
    bad = Condition(name="x-channel", type=TextMatchType.REGULAR_EXPRESSION, value="a(?=b)")
    declared = replace(
        SMALL,
        whitelists=(
            Whitelist(id="bad", hosts=("bad.example",), channel=(bad,)),
            Whitelist(id="good", hosts=("good.example",)),
        ),
        l4_routes=(
            L4Route(id="good", service="api", port=5_432, gateways=("edge",)),
            L4Route(id="poison", service="api", port=5_433, gateways=("edge",)),
        ),
    )
    one = clearance(find_envoy())
    artifact = made(declared)
    cleared = await one.clear(artifact)
    (found,) = one.observations(artifact)
    assert (found.subject, found.severity) == ("whitelist/bad", Severity.CRITICAL)
    assert [w.id for w in cleared.snapshot.content.routes.whitelists] == ["good"]
    assert len(cleared.snapshot.content.routes.l4_routes) == 2

    mute = clearance(binary(tmp_path, MUTE))
    cleared = await mute.clear(artifact)
    assert subjects(mute.observations(artifact)) == {"l4/poison": "item_refused"}
    names = {name for name, _ in cleared.parts if name.startswith("listener/")}
    assert names == {"listener/edge", "listener/edge:tcp-5432"}


async def test_an_envoy_without_words_is_asked_by_halves(tmp_path: Path) -> None:
    one = clearance(binary(tmp_path, MUTE))
    good = [prefix(f"r{n}", "web", f"/r{n}") for n in range(20)]
    declared = with_routes(*good, prefix("bad", "web", "/poison"))
    artifact = made(declared)
    cleared = await one.clear(artifact)
    assert served(artifact) - served(cleared) == {"route/bad"}
    assert subjects(one.observations(artifact)) == {"route/bad": "item_refused"}


async def test_a_refused_service_takes_its_routes_along_and_no_other(tmp_path: Path) -> None:
    one = clearance(binary(tmp_path, MUTE))
    sick = service("poison", [9401], [9501])
    declared = replace(
        SMALL,
        services=(*SMALL.services, sick),
        routes=(*SMALL.routes, prefix("p", "poison", "/p")),
    )
    artifact = made(declared)
    cleared = await one.clear(artifact)
    assert served(artifact) - served(cleared) == {
        "cluster/poison",
        "endpoint/poison",
        "route/p",
    }
    assert subjects(one.observations(artifact)) == {
        "service/poison": "item_refused",
        "route/p": "route_service_refused",
    }


async def test_a_refused_group_keeps_its_listener(tmp_path: Path) -> None:
    one = clearance(binary(tmp_path, 'grep -q "6.6.6.6" "$file" && exit 1; exit 0'))
    await one.clear(made(SMALL))
    moved = replace(SMALL, gateways=(GatewayGroup(name="edge", listen_address="6.6.6.6"),))
    artifact = made(moved, 2)
    cleared = await one.clear(artifact)
    assert dict(cleared.parts)["listener/edge"] == dict(made(SMALL).parts)["listener/edge"]
    (found,) = one.observations(artifact)
    assert found.held.startswith("its last accepted form stays")


async def test_a_changed_item_keeps_its_last_accepted_form_until_it_is_corrected() -> None:
    one = clearance(find_envoy())
    await one.clear(made(with_routes(regex("x", "/good"))))
    for revision in (2, 3):
        cleared = await one.clear(made(with_routes(regex("x", "/a(?=b)")), revision))
        kept = {route.id: route for route in cleared.snapshot.content.routes.routes}["x"]
        assert kept.path.value == "/good"
    artifact = made(with_routes(regex("x", "/better")), 4)
    assert await one.clear(artifact) == artifact
    assert one.observations(artifact) == ()


async def test_weights_go_on_while_something_is_excluded() -> None:
    one = clearance(find_envoy())
    declared = with_routes(regex("x", "/a(?=b)"))
    first = await one.clear(Renderer().render(snapshot(declared, 1, 0.5)))
    second = await one.clear(Renderer().render(snapshot(declared, 2, 0.7)))
    before, after = dict(first.parts), dict(second.parts)
    assert {name for name in before if before[name] != after[name]} == {
        "endpoint/api",
        "endpoint/web",
    }


async def test_nothing_is_left_out_unjudged_while_nothing_is_known_to_be_good(
    tmp_path: Path,
) -> None:
    declared = with_routes(prefix("bad", "web", "/poison"))
    hasty = clearance(binary(tmp_path, MUTE), search_s=0.0)
    artifact = made(declared)
    with pytest.raises(Retryable, match="nothing is known to be good yet"):
        await hasty.clear(artifact)
    assert hasty.observations(artifact) == ()
    await hasty.clear(made(SMALL))
    cleared = await hasty.clear(artifact)
    assert served(artifact) - served(cleared) == {"route/bad"}


KILLED = "sleep 0.05; kill -9 $$"


async def test_an_envoy_that_gives_no_answer_holds_nothing_up_for_long(tmp_path: Path) -> None:
    preflight = Preflight(binary=binary(tmp_path, KILLED))
    one = Clearance(ClearanceOptions(preflight=preflight, silent_s=1.0))
    artifact = made(SMALL)
    with pytest.raises(Retryable, match="killed"):
        await one.clear(artifact)
    assert one.observations(artifact) == ()
    await asyncio.sleep(1.0)
    assert await one.clear(artifact) == artifact
    (found,) = one.observations(artifact)
    assert found.code == "envoy_preflight_unusable"
    assert "no answer for" in found.message
    binary(tmp_path, "exit 0")
    again = made(with_routes(prefix("new", "web", "/new")), 2)
    assert await one.clear(again) == again
    assert one.observations(again) == ()


NAMING = (
    'bad=$(grep -ao "/poison[0-9]*;" "$file" | head -n 1); sleep 0.05; if [ -n "$bad" ]; then '
    "echo \"error initializing configuration 'x': regex '$bad' is too large\"; exit 1; fi"
)


async def test_with_much_to_find_and_nothing_known_each_try_goes_on(tmp_path: Path) -> None:
    bad = [regex(f"r{n}", f"/poison{n};") for n in range(30)]
    one = clearance(binary(tmp_path, NAMING), search_s=0.5)
    artifact = made(with_routes(*bad))
    tries = 0
    while tries < 30:
        tries += 1
        try:
            cleared = await one.clear(artifact)
            break
        except Retryable:
            assert one.observations(artifact) == ()
    assert tries > 1
    assert served(artifact) - served(cleared) == {f"route/{route.id}" for route in bad}
    assert len(one.observations(artifact)) == len(bad)


async def test_what_was_not_judged_is_held_only_beside_what_is_known(tmp_path: Path) -> None:
    mixed = [prefix(f"r{n:03}", "web", f"/{'poison' if n % 2 else 'ok'}{n}") for n in range(160)]
    artifact = made(with_routes(*mixed))
    checker = binary(tmp_path, MUTE)
    with pytest.raises(Rejected, match="no single item explains it: no words for it"):
        await clearance(checker, search_s=60.0).clear(artifact)
    known = clearance(checker, search_s=60.0)
    await known.clear(made(SMALL))
    cleared = await known.clear(artifact)
    assert served(made(SMALL)) <= served(cleared)
    assert not any("poison" in r.path.value for r in cleared.snapshot.content.routes.routes)
    assert any("not judged" in found.message for found in known.observations(artifact))
    rounds = 0
    while known.unfinished:
        cleared = await known.clear(artifact)
        rounds += 1
    assert 1 <= rounds < 10
    assert {r.id for r in cleared.snapshot.content.routes.routes} == {
        r.id for r in artifact.snapshot.content.routes.routes if "poison" not in r.path.value
    }


async def test_a_binary_that_cannot_check_holds_nothing_up(tmp_path: Path) -> None:
    for chosen in (
        tmp_path / "nowhere",
        binary(tmp_path, "echo 'an old version'; exit 1"),
    ):
        one = clearance(chosen)
        artifact = made(with_routes(regex("x", "/a(?=b)")))
        assert await one.clear(artifact) == artifact
        (found,) = one.observations(artifact)
        assert found.code == "envoy_preflight_unusable"
        assert str(chosen) in found.message


async def test_exclusions_outlive_a_restart_and_damage_is_survived(tmp_path: Path) -> None:
    file = tmp_path / "refusals.json"
    first = clearance(find_envoy(), file=file)
    await first.clear(made(with_routes(regex("x", "/good"))))
    bad = made(with_routes(regex("x", "/a(?=b)"), regex("y", "/b(?=c)")), 2)
    cleared = await first.clear(bad)
    for again in (clearance(None, file=file), clearance(find_envoy(), file=file)):
        assert (await again.clear(bad)).parts == cleared.parts
        assert again.observations(bad) == first.observations(bad)
    file.write_text("{")
    assert await clearance(None, file=file).clear(bad) == bad


async def test_a_newer_binary_is_asked_again_after_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "refusals.json"
    bad = made(with_routes(prefix("x", "web", "/poison")))
    first = clearance(binary(tmp_path, MUTE), file=file)
    assert served(await first.clear(bad)) == served(bad) - {"route/x"}
    newer = clearance(binary(tmp_path, "exit 0"), file=file)
    assert await newer.clear(bad) == bad
    assert newer.observations(bad) == ()


async def test_the_same_form_is_offered_again_after_it_was_taken_away(tmp_path: Path) -> None:
    one = clearance(binary(tmp_path, MUTE))
    bad = made(with_routes(prefix("x", "web", "/poison")))
    await one.clear(bad)
    await one.clear(made(SMALL, 2))
    binary(tmp_path, "exit 0")
    assert await one.clear(replace(bad, revision=3)) == replace(bad, revision=3)


async def test_a_disk_that_is_gone_costs_the_memory_only(tmp_path: Path) -> None:
    one = clearance(binary(tmp_path, MUTE), file=tmp_path / "no" / "folder" / "refusals.json")
    bad = made(with_routes(prefix("x", "web", "/poison")))
    assert served(await one.clear(bad)) == served(bad) - {"route/x"}


def test_expressions_come_last_and_where_they_can_match() -> None:
    declared = replace(
        SMALL,
        routes=(
            prefix("api", "api", "/api"),
            Route(id="re", service="web", path=regex("re", "/apix[0-9]").path),
            Route(id="other", service="web", path=regex("other", "/user/[0-9]+").path),
            Route(id="only", service="web", path=regex("o", "/o+").path, hosts=("o.example",)),
        ),
    )
    message = route_pb2.RouteConfiguration.FromString(dict(made(declared).parts)["route/rules"])
    everyone, only = message.virtual_hosts
    text = str(everyone.matcher)
    # Each at what it begins with, behind the rules of shorter keys that come first.
    assert text.count("apix[0-9]") == 1
    assert text.count("/user/[0-9]+") == 1
    assert str(only.matcher).count("/o+") == 1
