"""Envoys as people run them without a control plane, beside ours in the failover benchmark.

Two configurations from a file: with active health checks alone, and with outlier detection at
Envoy's defaults besides. Shares of the data centres are static weights of localities. Checks and
retries are what meshes that configure Envoy have by default: AWS App Mesh checks each 5 s with a
time limit of 2 s and thresholds of 2; Istio retries twice, at another endpoint, what was not
served. Everything else is as Envoy has it by itself, so panic below half of the endpoints too.
"""

import contextlib
from collections.abc import AsyncIterator, Mapping
from enum import StrEnum
from pathlib import Path

import yaml

from benchmarks.failover_front import SERVICES, SHARES, Front, front
from benchmarks.failover_load import OpenLoad
from benchmarks.failover_strike import Trial
from benchmarks.live_envoy import envoy, ready

TYPES = "type.googleapis.com/envoy.extensions."
UNITS = 100


class Rival(StrEnum):
    """What an Envoy does about endpoints that fail."""

    CHECKS = "checks"
    OUTLIERS = "outliers"


@contextlib.asynccontextmanager
async def rivals(folder: Path, centers: int, rate_rps: float) -> AsyncIterator[dict[Rival, Trial]]:
    """One of each with the first so many data centres, in use; their load is held."""
    async with contextlib.AsyncExitStack() as stack:
        found = {}
        for rival in Rival:
            before = await stack.enter_async_context(front())
            place = folder / f"{rival}-{centers}"
            place.mkdir()
            text = yaml.safe_dump(bootstrap(rival, before, centers))
            await stack.enter_async_context(envoy(text, place))
            await ready(before.admin)
            await before.well(centers)
            load = OpenLoad(
                port=before.listener, rate_rps=rate_rps, services=SERVICES, is_held=True
            )
            await stack.enter_async_context(load.running())
            found[rival] = Trial(front=before, load=load)
        yield found


def bootstrap(rival: Rival, before: Front, centers: int) -> dict[str, object]:
    """The whole configuration of one Envoy."""
    manager = {
        "@type": TYPES + "filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "in",
        "route_config": {
            "virtual_hosts": [{"name": "site", "domains": ["*"], "routes": _routes()}]
        },
        "http_filters": [
            {
                "name": "envoy.filters.http.router",
                "typed_config": {"@type": TYPES + "filters.http.router.v3.Router"},
            }
        ],
    }
    chain = {"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}
    listener = {
        "name": "in",
        "address": _address(before.listener),
        "filter_chains": [{"filters": [chain]}],
    }
    clusters = [_cluster(rival, before, service, SHARES[centers]) for service in SERVICES]
    return {
        "admin": {"address": _address(before.admin)},
        "static_resources": {"listeners": [listener], "clusters": clusters},
    }


def _routes() -> list[dict[str, object]]:
    others = TYPES + "retry.host.previous_hosts.v3.PreviousHostsPredicate"
    retry = {
        "retry_on": "connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes",
        "retriable_status_codes": [503],
        "num_retries": 2,
        "retry_host_predicate": [{"name": "others", "typed_config": {"@type": others}}],
        "host_selection_retry_max_attempts": 5,
    }
    return [
        {
            "match": {"prefix": f"/{service}"},
            "route": {"cluster": service, "retry_policy": retry},
        }
        for service in SERVICES
    ]


def _cluster(
    rival: Rival, before: Front, service: str, shares: Mapping[str, float]
) -> dict[str, object]:
    localities = [
        {
            "locality": {"zone": center},
            "load_balancing_weight": round(UNITS * share),
            "lb_endpoints": [
                {"endpoint": {"address": _address(port)}}
                for port in before.backs[service, center].ports
            ],
        }
        for center, share in shares.items()
    ]
    check = {
        "interval": "5s",
        "timeout": "2s",
        "unhealthy_threshold": 2,
        "healthy_threshold": 2,
        "http_health_check": {"path": "/healthz"},
        # Envoy waits a minute between checks until the first request; a site in use is past that.
        "no_traffic_interval": "5s",
    }
    outliers: dict[str, object] = {"outlier_detection": {}} if rival is Rival.OUTLIERS else {}
    return {
        "name": service,
        "type": "STATIC",
        "common_lb_config": {"locality_weighted_lb_config": {}},
        "health_checks": [check],
        "load_assignment": {"cluster_name": service, "endpoints": localities},
        **outliers,
    }


def _address(port: int) -> dict[str, object]:
    return {"socket_address": {"address": "127.0.0.1", "port_value": port}}
