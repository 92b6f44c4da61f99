"""FleetStore: generations and compare-and-set."""

import asyncio
from dataclasses import replace

import pytest

from controlplane.domain.errors import Conflict, NotFound
from controlplane.domain.routing.life.revision import RouteRevision
from controlplane.domain.routing.route import Route
from controlplane.domain.topology import Fleet
from controlplane.ports.stores import StoredFleet
from tests.ports.conftest import Stores
from tests.ports.examples import entry, fleet


async def test_a_generation_is_never_given_twice(stores: Stores) -> None:
    await stores.fleets.replace(fleet(), 0, entry())
    forward = await stores.fleets.replace(fleet(capacity_rps=7), 1, entry(), after=5)
    assert forward.generation == 6
    assert await stores.fleets.load() == forward


async def test_before_the_first_an_empty_fleet_of_generation_0(stores: Stores) -> None:
    assert await stores.fleets.load() == StoredFleet(fleet=Fleet(), generation=0)


async def test_what_was_stored_comes_back(stores: Stores) -> None:
    stored = await stores.fleets.replace(fleet(), 0, entry())
    assert stored == StoredFleet(fleet=fleet(), generation=1)
    assert await stores.fleets.load() == stored


async def test_earlier_generations_can_be_read(stores: Stores) -> None:
    await stores.fleets.replace(fleet(), 0, entry())
    await stores.fleets.replace(fleet(capacity_rps=7), 1, entry())
    assert await stores.fleets.at(1) == fleet()
    assert await stores.fleets.at(2) == fleet(capacity_rps=7)
    with pytest.raises(NotFound, match="generation 3"):
        await stores.fleets.at(3)


async def test_another_generation_is_a_conflict_and_changes_nothing(stores: Stores) -> None:
    await stores.fleets.replace(fleet(), 0, entry("first"))
    for expected in (0, 2):
        with pytest.raises(Conflict, match="generation") as caught:
            await stores.fleets.replace(fleet(capacity_rps=1), expected, entry("second"))
        assert caught.value.code == "generation_conflict"
    assert (await stores.fleets.load()).fleet == fleet()
    assert [e.action for e in await stores.audit.recent(9)] == ["first"]


async def test_of_many_at_once_one_wins(stores: Stores) -> None:
    answers = await asyncio.gather(
        *(stores.fleets.replace(fleet(n + 1.0), 0, entry()) for n in range(8)),
        return_exceptions=True,
    )
    assert sum(isinstance(a, StoredFleet) for a in answers) == 1
    assert sum(isinstance(a, Conflict) for a in answers) == 7
    assert len(await stores.audit.recent(99)) == 1


def revision(route: str, reason: str = "") -> RouteRevision:
    return RouteRevision(
        route=route,
        event="publish",
        author="me",
        time_s=5.5,
        generation=7,
        reason=reason,
        before="",
        after='{"id":"ü"}',
    )


async def test_revisions_come_with_their_fleet_newest_first(stores: Stores) -> None:
    assert await stores.fleets.revisions(None, 5) == []
    await stores.fleets.replace(fleet(), 0, entry(), revisions=(revision("a"), revision("b")))
    await stores.fleets.replace(fleet(), 1, entry(), after=5, revisions=(revision("a", "again"),))
    newest, b, a = await stores.fleets.revisions(None, 5)
    assert [newest.route, b.route, a.route] == ["a", "b", "a"]
    assert [newest.generation, b.generation] == [6, 1]
    assert newest.number > b.number > a.number > 0
    assert newest == replace(revision("a", "again"), generation=6)
    assert await stores.fleets.revisions("a", 5) == [newest, a]
    assert await stores.fleets.revisions("a", 1, newest.number) == [a]
    assert await stores.fleets.revision(b.number) == b
    with pytest.raises(NotFound, match="revision 99"):
        await stores.fleets.revision(99)


async def test_of_a_conflict_no_revision_is_kept(stores: Stores) -> None:
    with pytest.raises(Conflict):
        await stores.fleets.replace(fleet(), 3, entry(), revisions=(revision("a"),))
    assert await stores.fleets.revisions(None, 5) == []


async def test_a_large_fleet_comes_back(stores: Stores) -> None:
    routes = tuple(Route(id=f"r{n}", service="s", labels=(("n", str(n)),)) for n in range(3_000))
    large = replace(fleet(), routes=routes)
    await stores.fleets.replace(large, 0, entry())
    assert (await stores.fleets.load()).fleet == await stores.fleets.at(1) == large
