"""The ADS server with streams of our own."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import grpc
import pytest

from controlplane.adapters.envoy.ads import AdsOptions, AdsServer, Authorize
from controlplane.adapters.envoy.plane import EnvoyPlane
from controlplane.adapters.envoy.session import LONGEST_REFUSAL
from controlplane.domain.errors import Refused, Rejected, Retryable
from controlplane.domain.xds import ResourceType
from tests.adapters.envoy.ads_client import AdsClient, connected
from tests.adapters.envoy.site import SMALL, anybody, plane, snapshot

CDS, EDS = ResourceType.CLUSTER, ResourceType.ENDPOINT
QUIET_S = 0.15


@contextlib.asynccontextmanager
async def serving(
    authorize: Authorize = anybody, recheck_s: float = 10.0
) -> AsyncIterator[tuple[EnvoyPlane, int]]:
    one = plane(authorize, recheck_s)
    await apply(one, 1)
    port = await one.start()
    try:
        yield one, port
    finally:
        await one.stop()


async def apply(one: EnvoyPlane, revision: int, east: float = 0.5) -> None:
    await one.apply(one.render(snapshot(SMALL, revision, east)))


async def quiet(client: AdsClient) -> bool:
    """Whether nothing comes for a moment; ends the stream."""
    try:
        await asyncio.wait_for(client.response(), QUIET_S)
    except TimeoutError:
        return True
    return False


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(5):
        while not holds():
            await asyncio.sleep(0.005)


async def refusal(port: int, **who: str | None) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        async with connected(port, **who) as client:  # type: ignore[arg-type]
            await client.ask(CDS)
            await client.response()
    return caught.value


async def test_a_stream_gets_its_group_and_is_seen() -> None:
    async with serving() as (one, port), connected(port) as client:
        await client.ask(CDS)
        response = await client.response()
        assert len(response.resources) == 2
        await client.ack(response)
        await until(lambda: one.acks == 1)
        (node,) = await one.observe()
        assert (node.name, node.group, node.connected, node.revision) == ("n1", "edge", True, 1)
        assert node.acked == (("cluster", response.version_info),)
    await until(lambda: True)


async def test_nothing_changed_nothing_pushed() -> None:
    async with serving() as (one, port), connected(port) as client:
        await client.ask(CDS)
        await client.ack(await client.response())
        await client.ask(EDS, "web", "api")
        await client.ack(await client.response(), "web", "api")
        await until(lambda: one.acks == 2)
        for revision in range(2, 7):
            await apply(one, revision)
        assert await quiet(client)
        assert one.pushes == 2
        (node,) = await one.observe()
        assert node.revision == 6


async def test_weights_push_endpoints_only_and_names_choose() -> None:
    async with serving() as (one, port), connected(port) as client:
        await client.ask(CDS)
        await client.ack(await client.response())
        await client.ask(EDS, "web")
        first = await client.response()
        assert len(first.resources) == 1
        await client.ack(first, "web")
        await apply(one, 2, 0.7)
        second = await client.response()
        assert second.type_url == first.type_url
        assert second.version_info != first.version_info
        assert one.pushes == 3


async def test_who_returns_with_the_version_is_pushed_nothing() -> None:
    async with serving() as (one, port):
        async with connected(port) as client:
            await client.ask(CDS)
            version = (await client.response()).version_info
        async with connected(port) as client:
            await client.ask(CDS, version=version)
            assert await quiet(client)
        assert one.pushes == 1


async def test_a_refused_version_is_reported_and_not_sent_to_that_node_again() -> None:
    async with serving() as (one, port):
        async with connected(port) as client:
            await client.ask(CDS, version="older")
            await client.nack(await client.response(), "bad cluster")
            await until(lambda: one._server.nacks == 1)
            (node,) = await one.observe()
            assert node.refused == (("cluster", "bad cluster"),)
            assert node.nacks == 1
        async with connected(port) as again:
            await again.ask(CDS, version="older")
            assert await quiet(again)
        async with connected(port, node="n2") as other:
            await other.ask(CDS, version="older")
            await other.response()


async def test_an_unknown_group_waits_and_is_served_when_declared() -> None:
    async with serving() as (one, port), connected(port, group="later") as client:
        await client.ask(CDS)
        assert await quiet(client)
        (node,) = await one.observe()
        assert (node.group, node.acked) == ("later", ())


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Refused("unauthenticated", "no such token"), grpc.StatusCode.UNAUTHENTICATED),
        (Refused("wrong_node", "of another node"), grpc.StatusCode.PERMISSION_DENIED),
        (Retryable("store_away", "the database is away"), grpc.StatusCode.UNAVAILABLE),
    ],
)
async def test_a_caller_that_may_not_subscribe_is_told_why(
    error: Exception, code: grpc.StatusCode
) -> None:
    async def refuse(secret: str | None, node: str, group: str) -> None:
        raise error

    async with serving(refuse) as (one, port):
        caught = await refusal(port)
        assert (caught.code(), caught.details()) == (code, str(error))
        assert one.pushes == 0
        assert await one.observe() == []


async def test_the_token_comes_from_the_metadata() -> None:
    seen = []

    async def note(secret: str | None, node: str, group: str) -> None:
        seen.append((secret, node, group))

    async with serving(note) as (_, port):
        for token in ("good", None):
            async with connected(port, token=token) as client:
                await client.ask(CDS)
                await client.response()
    assert seen == [("good", "n1", "edge"), (None, "n1", "edge")]


async def test_a_revoked_token_ends_the_stream_and_an_outage_does_not() -> None:
    answers: list[Exception | None] = [None, Retryable("store_away", "away")]

    async def check(secret: str | None, node: str, group: str) -> None:
        error = answers.pop(0) if answers else Refused("unauthenticated", "revoked")
        if error is not None:
            raise error

    async with serving(check, recheck_s=0.05) as (_, port), connected(port) as client:
        await client.ask(CDS)
        await client.ack(await client.response())
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await asyncio.wait_for(client.response(), 5)
    assert answers == []
    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


@pytest.mark.parametrize(
    ("node", "group", "what"),
    [("", "edge", "id"), ("a\nb", "edge", "id"), ("n", "g" * 201, "cluster")],
)
async def test_callers_need_a_name_that_can_be_shown(node: str, group: str, what: str) -> None:
    async with serving() as (one, port), connected(port, node=node, group=group) as client:
        await client.ask(CDS)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await client.response()
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert f"node.{what} is " in str(caught.value.details())
        assert await one.observe() == []


async def test_long_words_of_a_refusal_are_cut() -> None:
    async with serving() as (one, port), connected(port) as client:
        await client.ask(CDS)
        await client.nack(await client.response(), "w" * 100_000)
        async with asyncio.timeout(5):
            while not (nodes := await one.observe()) or not nodes[0].refused:
                await asyncio.sleep(0.005)
        assert len(nodes[0].refused[0][1]) == LONGEST_REFUSAL


async def test_garbage_and_silence_end_the_stream() -> None:
    async with serving() as (_, port):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            async with connected(port) as client:
                await client.call.write(b"\xff\xff")
                await client.response()
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    silent = AdsServer(AdsOptions(port=0, first_request_timeout_s=0.05), anybody, lambda: 0.0)
    port = await silent.start()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        async with connected(port) as client:
            await client.response()
    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    await silent.stop()


async def test_a_taken_port_is_said() -> None:
    async with serving() as (_, port):
        second = AdsServer(AdsOptions(port=port), anybody, lambda: 0.0)
        with pytest.raises(Retryable, match="free the port"):
            await second.start()


async def test_an_older_revision_is_fenced_off() -> None:
    async with serving() as (one, _):
        await apply(one, 5)
        await apply(one, 5)
        with pytest.raises(Rejected) as caught:
            await apply(one, 4)
        assert caught.value.code == "revision_not_newer"
        with pytest.raises(Rejected):
            await apply(one, 5, 0.9)


async def test_a_burst_of_changes_is_one_push_of_the_newest() -> None:
    async with serving() as (one, port), connected(port) as client:
        await client.ask(CDS)
        await client.ack(await client.response())
        await client.ask(EDS, "web")
        await client.response()
        for step in range(30):
            await apply(one, step + 2, 0.3 + step / 100)
        newest = await client.response()
        await client.ack(newest, "web")
        assert await quiet(client)
        assert one.pushes == 3
        (node,) = await one.observe()
        assert ("endpoint", newest.version_info) in node.acked
