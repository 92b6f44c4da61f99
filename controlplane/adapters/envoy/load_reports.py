"""What Envoys tell of their requests: the load reporting service, beside ADS on the same port.

Run by `ads`. Envoy reports attempts by cluster and locality each second, over a stream of its own
that its bootstrap file asks for; what failed is an answer of 5xx or no answer. Here it is read and
handed on; what follows from it is health's matter. A caller needs the token that ADS needs.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

import grpc
import structlog
from envoy.service.load_stats.v3 import lrs_pb2
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import DecodeError

from controlplane.adapters.envoy.derived_clusters import service_of
from controlplane.domain.errors import ControlPlaneError

SERVICE = "envoy.service.load_stats.v3.LoadReportingService"
METHOD = "StreamLoadStats"
INTERVAL_S = 1
BEARER = "bearer "
# A name that no service has: Envoy's own cluster for its configuration.
OWN_CLUSTERS = "_"

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Attempts of one Envoy at one cluster of a service since its last report.

    Attributes:
        cluster: "" where the locality names none.
    """

    node: str
    service: str
    datacenter: str
    cluster: str
    served: int
    failed: int


class LoadReports:
    """Streams of reports; `told` is called with each row of each report."""

    def __init__(
        self,
        authorize: Callable[[str | None, str, str], Awaitable[object]],
        timeout_s: float,
    ) -> None:
        self._authorize = authorize
        self._timeout_s = timeout_s
        self.told: Callable[[Load], None] | None = None

    async def stream(
        self, _requests: object, context: "grpc.aio.ServicerContext[bytes, bytes]"
    ) -> None:
        """Read one Envoy's reports until it leaves."""
        try:
            async with asyncio.timeout(self._timeout_s):
                first = await _read(context)
                if first is None:
                    return
                node, group = first.node.id, first.node.cluster
                await self._authorize(_secret(context), node, group)
        except TimeoutError:
            await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "no report in time")
        except DecodeError:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "not a LoadStatsRequest")
        except ControlPlaneError as error:
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, error.message)
        wanted = lrs_pb2.LoadStatsResponse(
            send_all_clusters=True, load_reporting_interval=Duration(seconds=INTERVAL_S)
        )
        await context.write(wanted.SerializeToString())
        log.info("loads.joined", node=node, group=group)
        await self._listen(node, context)

    async def _listen(self, node: str, context: "grpc.aio.ServicerContext[bytes, bytes]") -> None:
        while (report := await _read(context)) is not None:
            if self.told is not None:
                for load in loads(node, report):
                    self.told(load)


def loads(node: str, report: lrs_pb2.LoadStatsRequest) -> Iterator[Load]:
    """The rows of a report in which something was asked."""
    for cluster in report.cluster_stats:
        if cluster.cluster_name.startswith(OWN_CLUSTERS):
            continue
        for row in cluster.upstream_locality_stats:
            served, failed = row.total_successful_requests, row.total_error_requests
            if served or failed:
                yield Load(
                    node=node,
                    service=service_of(cluster.cluster_name),
                    datacenter=row.locality.zone,
                    cluster=row.locality.sub_zone,
                    served=served,
                    failed=failed,
                )


async def _read(
    context: "grpc.aio.ServicerContext[bytes, bytes]",
) -> lrs_pb2.LoadStatsRequest | None:
    raw: object = await context.read()
    return lrs_pb2.LoadStatsRequest.FromString(raw) if isinstance(raw, bytes) else None


def _secret(context: "grpc.aio.ServicerContext[bytes, bytes]") -> str | None:
    given = dict(context.invocation_metadata() or ()).get("authorization", "")
    text = given if isinstance(given, str) else ""
    return text[len(BEARER) :] if text[: len(BEARER)].lower() == BEARER else None
