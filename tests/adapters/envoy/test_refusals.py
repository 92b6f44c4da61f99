"""What Envoys refuse after a push, with streams of our own in their place."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

from controlplane.adapters.envoy.ads import AdsOptions
from controlplane.adapters.envoy.plane import EnvoyPlane, PlaneOptions
from controlplane.domain.topology import Fleet
from controlplane.domain.xds import AGENT_NAME, TYPE_URLS, ResourceType
from tests.adapters.envoy.ads_client import AdsClient, connected
from tests.adapters.envoy.site import SMALL, anybody, prefix, snapshot
from tests.adapters.envoy.test_clearance import regex, with_routes

CDS, EDS = ResourceType.CLUSTER, ResourceType.ENDPOINT
LDS, RDS = ResourceType.LISTENER, ResourceType.ROUTE
AHEAD = "invalid perl operator: (?="
QUIET_S = 0.15


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[tuple[EnvoyPlane, int]]:
    options = PlaneOptions(ads=AdsOptions(port=0), refusal_settles_s=0.0)
    one = EnvoyPlane(options, anybody, asyncio.get_running_loop().time)
    await apply(one, SMALL, 1)
    port = await one.start()
    try:
        yield one, port
    finally:
        await one.stop()


async def apply(one: EnvoyPlane, declared: Fleet, revision: int) -> None:
    await one.apply(one.render(snapshot(declared, revision)))


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(5):
        while not holds():
            await asyncio.sleep(0.005)


async def settled(client: AdsClient, one: EnvoyPlane) -> str:
    """Subscribe to clusters and routes and take them; the version of the routes."""
    acks = one.acks
    await client.ask(CDS)
    await client.ack(await client.response())
    await client.ask(RDS, "rules")
    response = await client.response()
    await client.ack(response, "rules")
    await until(lambda: one.acks == acks + 2)
    return str(response.version_info)


async def newest(port: int, node: str, kind: ResourceType, *names: str) -> str:
    """What a new stream of this node is sent."""
    async with connected(port, node=node) as client:
        await client.ask(kind, *names)
        return str((await client.response()).version_info)


async def nothing(client: AdsClient) -> bool:
    try:
        await asyncio.wait_for(client.response(), QUIET_S)
    except TimeoutError:
        return True
    return False


def nacks(one: EnvoyPlane) -> int:
    return one._server.nacks


async def refuse(one: EnvoyPlane, client: AdsClient, words: str) -> str:
    before = nacks(one)
    response = await client.response()
    names = ("rules",) if response.type_url == TYPE_URLS[RDS] else ()
    await client.nack(response, words, *names)
    await until(lambda: nacks(one) == before + 1)
    return str(response.version_info)


BAD = with_routes(regex("bad", "/a(?=b)"), prefix("new", "web", "/new"))
REPAIRED = with_routes(prefix("new", "web", "/new"))


async def test_the_named_item_is_left_out_and_the_rest_is_pushed() -> None:
    async with serving() as (one, port), connected(port) as client:
        good = await settled(client, one)
        await apply(one, BAD, 2)
        refused = await refuse(one, client, AHEAD)
        # Before anything is repaired, a new stream gets what was acknowledged last.
        assert await newest(port, "n2", RDS, "rules") == good
        # The group is named too, until the Envoy has taken the repaired version.
        found = {f.subject: f for f in await one.repair()}
        assert set(found) == {"route/bad", "gateway/edge"}
        assert "Envoy n1 refuses route bad: invalid perl" in found["route/bad"].message
        repaired = await client.response()
        assert repaired.version_info not in (good, refused)
        await client.ack(repaired, "rules")
        other = EnvoyPlane(PlaneOptions(ads=AdsOptions(port=0)), anybody, lambda: 0.0)
        wanted = dict(other.render(snapshot(REPAIRED, 2)).parts)["route/rules"]
        assert repaired.resources[0].value == wanted
        await until(lambda: one.acks == 3)
        assert [f.subject for f in await one.repair()] == ["route/bad"]
        (node,) = [node for node in await one.observe() if node.name == "n1"]
        assert (node.revision, node.refused) == (2, ())


async def test_what_cannot_be_named_goes_back_to_what_was_acknowledged() -> None:
    async with serving() as (one, port), connected(port) as client:
        good = await settled(client, one)
        await apply(one, BAD, 2)
        await refuse(one, client, "something is wrong")
        found = {f.subject: f for f in await one.repair()}
        assert set(found) == {"route/bad", "route/new", "gateway/edge"}
        assert "n1 refuses route: something is wrong" in found["gateway/edge"].message
        # It runs that already: nothing is pushed, and who comes new gets the same.
        assert await nothing(client)
        assert await newest(port, "n2", RDS, "rules") == good


async def test_a_new_version_that_is_acknowledged_ends_it() -> None:
    async with serving() as (one, port), connected(port) as client:
        await settled(client, one)
        await apply(one, BAD, 2)
        await refuse(one, client, "something is wrong")
        await one.repair()
        changed = with_routes(regex("bad", "/fine"), prefix("new", "web", "/newer"))
        await apply(one, changed, 3)
        response = await client.response()
        await client.ack(response, "rules")
        await until(lambda: one.acks == 3)
        assert await one.repair() == ()
        assert await newest(port, "n2", RDS, "rules") == response.version_info


async def test_what_another_envoy_runs_is_not_in_quarantine() -> None:
    async with serving() as (one, port), connected(port) as young:
        await settled(young, one)
        async with connected(port, node="old") as old:
            await settled(old, one)
            await apply(one, BAD, 2)
            response = await young.response()
            await young.ack(response, "rules")
            await until(lambda: one.acks == 5)
            await refuse(one, old, AHEAD)
            (found,) = await one.repair()
            assert found.subject == "gateway/edge"
            assert found.message.startswith(f"old refuses route: {AHEAD}, which means route/bad")
            assert await newest(port, "n3", RDS, "rules") == response.version_info
            assert await nothing(old)
        # With the last Envoy that stands by it the finding is over.
        async with asyncio.timeout(5):
            while any(n.connected and n.name == "old" for n in await one.observe()):
                await asyncio.sleep(0.005)
        assert await one.repair() == ()


async def test_a_port_in_use_is_told_and_excludes_nothing() -> None:
    async with serving() as (one, port), connected(port) as client:
        await client.ask(CDS)
        await client.ack(await client.response())
        await client.ask(LDS)
        await refuse(
            one, client, "Error adding/updating listener(s) http-edge: cannot bind '127.0.0.1:80'"
        )
        (found,) = await one.repair()
        assert (found.code, found.subject) == ("gateway_refuses", "gateway/edge")
        # Elsewhere the port may be free.
        assert await newest(port, "n2", LDS) != ""


async def test_clusters_are_sent_again_because_the_good_ones_were_taken() -> None:
    async with serving() as (one, port), connected(port) as client:
        good = await settled(client, one)
        declared = replace(
            SMALL, services=tuple(replace(s, timeout_ms=1) for s in SMALL.services), routes=()
        )
        patient = tuple(
            replace(s, health_check=replace(s.health_check, path=f"/{s.name}"))
            for s in declared.services
        )
        await apply(one, replace(declared, services=patient), 2)
        assert await refuse(one, client, "mute") != good
        found = {f.subject for f in await one.repair()}
        assert {"service/api", "service/web"} <= found
        again = await client.response()
        assert again.type_url == TYPE_URLS[CDS]
        assert {type(r).__name__ for r in again.resources} == {"Any"}


async def test_without_anything_acknowledged_nothing_is_taken_away() -> None:
    async with serving() as (one, port), connected(port) as client:
        await client.ask(CDS)
        refused = await refuse(one, client, "mute")
        found = await one.repair()
        assert [f.subject for f in found] == ["gateway/edge"]
        assert await newest(port, "n2", CDS) == refused


@contextlib.asynccontextmanager
async def beside(port: int) -> AsyncIterator[AdsClient]:
    async with connected(port) as client:
        client.program = AGENT_NAME
        yield client


async def test_the_agent_gets_what_its_own_envoy_acknowledged() -> None:
    async with serving() as (one, port), connected(port) as client:
        good = await settled(client, one)
        async with beside(port) as agent:
            await agent.ask(RDS, "rules")
            first = await agent.response()
            assert first.version_info == good
            await agent.ack(first, "rules")
            await apply(one, REPAIRED, 2)
            response = await client.response()
            assert await nothing(agent)
        async with beside(port) as agent:
            await agent.ask(RDS, "rules", version=good)
            waiting = asyncio.create_task(agent.response())
            await asyncio.sleep(QUIET_S)
            assert not waiting.done()
            assert (await one.observe())[1].revision != 2
            await client.ack(response, "rules")
            assert (await waiting).version_info == response.version_info


async def test_an_agent_alone_gets_the_newest_and_not_what_was_refused() -> None:
    async with serving() as (one, port):
        async with connected(port) as client:
            good = await settled(client, one)
            await apply(one, BAD, 2)
            async with beside(port) as agent:
                await agent.ask(RDS, "rules")
                assert (await agent.response()).version_info == good
            await refuse(one, client, AHEAD)
        async with beside(port) as agent:
            await agent.ask(RDS, "rules")
            assert (await agent.response()).version_info == good
        await one.repair()
        async with beside(port) as agent:
            await agent.ask(RDS, "rules")
            assert (await agent.response()).version_info != good


async def test_a_refused_version_that_comes_back_is_found_again() -> None:
    async with serving() as (one, port), connected(port) as client:
        await settled(client, one)
        await apply(one, BAD, 2)
        await refuse(one, client, AHEAD)
        # Another version is in force before anything was repaired, and then that one again.
        await apply(one, SMALL, 3)
        assert [f.subject for f in await one.repair()] == ["gateway/edge"]
        await apply(one, BAD, 4)
        async with asyncio.timeout(5):
            while "route/bad" not in {f.subject for f in await one.repair()}:
                await asyncio.sleep(0.01)
        assert (await client.response()).resources


async def test_a_thousand_envoys_that_refuse_are_one_question() -> None:
    async with serving() as (one, port), contextlib.AsyncExitStack() as stack:
        async with connected(port) as client:
            await settled(client, one)
        await apply(one, BAD, 2)
        for number in range(20):
            client = await stack.enter_async_context(connected(port, node=f"n{number}"))
            await client.ask(RDS, "rules", version="older")
            response = await client.response()
            if number == 0:
                await client.nack(response, AHEAD, "rules")
                await until(lambda: nacks(one) == 1)
        assert len(one._server.refusals()) == 1
        found = {f.subject for f in await one.repair()}
        assert found == {"route/bad", "gateway/edge"}
