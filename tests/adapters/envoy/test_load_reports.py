"""What Envoys tell of their requests, over a real stream."""

import asyncio
from collections.abc import AsyncIterator

import grpc
import pytest
from envoy.service.load_stats.v3 import lrs_pb2

from controlplane.adapters.envoy.ads import AdsOptions, AdsServer
from controlplane.adapters.envoy.load_reports import METHOD, SERVICE, Load, loads
from controlplane.checking import cluster_named
from controlplane.domain.errors import Refused
from tests.builders import fleet

SECRET = "sbx_good"


async def authorize(secret: str | None, node: str, group: str) -> None:
    if (secret, node, group) != (SECRET, "edge-1", "edge"):
        raise Refused("unauthenticated", "no")


def report(*rows: tuple[str, str, int, int], cluster: str = "tickets") -> lrs_pb2.LoadStatsRequest:
    message = lrs_pb2.LoadStatsRequest()
    message.node.id, message.node.cluster = "edge-1", "edge"
    stats = message.cluster_stats.add(cluster_name=cluster)
    for zone, sub_zone, served, failed in rows:
        row = stats.upstream_locality_stats.add(
            total_successful_requests=served, total_error_requests=failed
        )
        row.locality.zone, row.locality.sub_zone = zone, sub_zone
    return message


def test_rows_without_requests_and_envoys_own_cluster_say_nothing() -> None:
    told = report(("beijing-1", "", 0, 0), ("beijing-2", "blue", 3, 1))
    assert list(loads("edge-1", told)) == [
        Load(
            node="edge-1",
            service="tickets",
            datacenter="beijing-2",
            cluster="blue",
            served=3,
            failed=1,
        )
    ]
    assert list(loads("edge-1", report(("a", "", 1, 1), cluster="_xds"))) == []


@pytest.mark.parametrize("name", ["tickets:v2", "tickets~queue", "tickets~~tcp"])
def test_clusters_of_versions_and_queues_are_their_services(name: str) -> None:
    (load,) = loads("edge-1", report(("beijing-1", "", 1, 0), cluster=name))
    assert load.service == "tickets"


@pytest.mark.parametrize(
    ("service", "datacenter", "cluster", "found"),
    [
        ("tickets", "beijing-1", "", ("tickets", "beijing-1", "")),
        ("tickets", "beijing-1", "blue", None),
        ("tickets", "gone", "", None),
        ("gone", "beijing-1", "", None),
    ],
)
def test_a_report_is_about_a_declared_cluster(
    service: str, datacenter: str, cluster: str, found: tuple[str, str, str] | None
) -> None:
    load = Load(
        node="n", service=service, datacenter=datacenter, cluster=cluster, served=1, failed=0
    )
    assert cluster_named(fleet(), load) == found


@pytest.fixture
async def server() -> AsyncIterator[tuple[AdsServer, int]]:
    one = AdsServer(AdsOptions(port=0), authorize, lambda: 0.0)
    port = await one.start()
    yield one, port
    await one.stop()


async def test_reports_are_handed_on(server: tuple[AdsServer, int]) -> None:
    ads, port = server
    heard: asyncio.Queue[Load] = asyncio.Queue()
    ads.loads.told = heard.put_nowait
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        call = channel.stream_stream(f"/{SERVICE}/{METHOD}")(
            metadata=(("authorization", f"Bearer {SECRET}"),)
        )
        await call.write(report().SerializeToString())
        raw: object = await call.read()
        assert isinstance(raw, bytes)
        wanted = lrs_pb2.LoadStatsResponse.FromString(raw)
        assert (wanted.send_all_clusters, wanted.load_reporting_interval.seconds) == (True, 1)
        await call.write(report(("beijing-1", "", 7, 2)).SerializeToString())
        async with asyncio.timeout(10):
            load = await heard.get()
        assert (load.datacenter, load.served, load.failed) == ("beijing-1", 7, 2)
        await call.done_writing()


async def test_who_may_not_subscribe_may_not_report(server: tuple[AdsServer, int]) -> None:
    _, port = server
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        call = channel.stream_stream(f"/{SERVICE}/{METHOD}")()
        await call.write(report().SerializeToString())
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call.read()
    assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED
