"""A bootstrap for tests of the rig without a control plane: one cluster and one route per lane."""

from collections.abc import Mapping

from controlplane.demo.layout import HOST, Lane, Layout
from controlplane.demo.load import USER_COOKIE

TYPES = "type.googleapis.com/envoy.extensions."
SHORT = "0.25s"


def bootstrap(layout: Layout, ratios: Mapping[str, float]) -> dict[str, object]:
    """Envoy's configuration that splits each lane by the primary's ratio, 0..1."""
    manager = {
        "@type": TYPES + "filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "in",
        "route_config": {
            "name": "r",
            "virtual_hosts": [
                {"name": "v", "domains": ["*"], "routes": [_route(x) for x in layout.lanes]}
            ],
        },
        "http_filters": [
            {
                "name": "router",
                "typed_config": {"@type": TYPES + "filters.http.router.v3.Router"},
            }
        ],
    }
    chain = {"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}
    listener = {
        "name": "in",
        "address": _address(layout.envoy_port),
        "filter_chains": [{"filters": [chain]}],
    }
    return {
        "node": {"id": "rig", "cluster": "rig", "locality": {"region": "local", "zone": "edge"}},
        "stats_flush_on_admin": True,
        "admin": {"address": _address(layout.envoy_admin_port)},
        "static_resources": {
            "clusters": [_cluster(layout, lane, ratios[lane.name]) for lane in layout.lanes],
            "listeners": [listener],
        },
    }


def _cluster(layout: Layout, lane: Lane, ratio: float) -> dict[str, object]:
    shares = (round(ratio * 10_000), 10_000 - round(ratio * 10_000))
    localities = [
        {
            "locality": {"region": "local", "zone": centre.name},
            "load_balancing_weight": share,
            "lb_endpoints": [
                {"endpoint": {"address": _address(port)}}
                for port in layout.endpoint_ports(centre.name, lane.name)
            ],
        }
        for centre, share in zip(layout.datacenters, shares, strict=True)
    ]
    return {
        "name": lane.name,
        "type": "STATIC",
        "connect_timeout": SHORT,
        "lb_policy": "MAGLEV",
        "maglev_lb_config": {"table_size": 5003},
        "common_lb_config": {
            "healthy_panic_threshold": {"value": 0},
            "update_merge_window": "0s",
            "locality_weighted_lb_config": {},
        },
        "health_checks": [
            {
                "timeout": "0.2s",
                "interval": SHORT,
                "no_traffic_interval": SHORT,
                "unhealthy_threshold": 2,
                "healthy_threshold": 2,
                "http_health_check": {"path": "/hc"},
            }
        ],
        "outlier_detection": {
            "consecutive_5xx": 3,
            "consecutive_gateway_failure": 3,
            "enforcing_consecutive_gateway_failure": 100,
            "interval": SHORT,
            "base_ejection_time": "3s",
            "max_ejection_percent": 100,
            "split_external_local_origin_errors": True,
            "consecutive_local_origin_failure": 2,
        },
        "circuit_breakers": {"thresholds": [{"max_retries": 1000, "max_connections": 10000}]},
        "load_assignment": {"cluster_name": lane.name, "endpoints": localities},
    }


def _route(lane: Lane) -> dict[str, object]:
    previous = TYPES + "retry.{0}.v3.{1}"
    return {
        "match": {"prefix": f"/{lane.name}"},
        "route": {
            "cluster": lane.name,
            "hash_policy": [{"cookie": {"name": USER_COOKIE}}],
            "retry_policy": {
                "retry_on": "connect-failure,refused-stream,reset,gateway-error",
                "num_retries": 6,
                "per_try_timeout": "2s",
                "retry_back_off": {"base_interval": "0.01s", "max_interval": "0.05s"},
                "host_selection_retry_max_attempts": 5,
                "retry_host_predicate": [
                    {
                        "name": "envoy.retry_host_predicates.previous_hosts",
                        "typed_config": {
                            "@type": previous.format(
                                "host.previous_hosts", "PreviousHostsPredicate"
                            )
                        },
                    }
                ],
                "retry_priority": {
                    "name": "envoy.retry_priorities.previous_priorities",
                    "typed_config": {
                        "@type": previous.format(
                            "priority.previous_priorities", "PreviousPrioritiesConfig"
                        ),
                        "update_frequency": 1,
                    },
                },
            },
        },
    }


def _address(port: int) -> dict[str, object]:
    return {"socket_address": {"address": HOST, "port_value": port}}
