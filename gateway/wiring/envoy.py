"""Envoy: the filter ext_authz and the cluster of the agent.

The agent's own 503 to a client that has to wait is no failure of the agent, so only what Envoy sees
itself (no connection, no answer in time) counts towards its ejection.
"""

from collections.abc import Mapping
from typing import Any

import yaml

from gateway.forward_auth.questions import ENVOY_PREFIX, HEALTH_PATH
from gateway.wiring.plan import TIMEOUT_MS, TO_CLIENT, TO_CLIENT_PREFIXES, TO_SERVICE, Plan
from gateway.wiring.tickets import PER_ROUTE, ticket_filter, unless_admitted

CLUSTER = "signalbox_agent"
TYPE = "type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz"
# Idle connections end here before the agent ends them.
IDLE_S = 60
AT_ONCE = 1_024
NOTES = """\
# Put the filter in front of the router, after whatever brings paths into normal form, and the
# cluster among the clusters. Where nothing is to be asked, a route says so:
#   typed_per_filter_config: {envoy.filters.http.ext_authz:
#     {"@type": type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute,
#      disabled: true}}
# `use_remote_address: true` of the connection manager makes X-Forwarded-For true.
"""


def envoy(plan: Plan) -> str:
    """Both parts as YAML."""
    parts = {"http_filters": http_filters(plan), "clusters": [cluster(plan)]}
    notes = NOTES + (PER_ROUTE if len(plan.queues) > 1 else "")
    return notes + yaml.safe_dump(parts, sort_keys=False, width=100)


def http_filters(plan: Plan) -> list[Mapping[str, Any]]:
    """The filters in their order: who holds a valid ticket is not asked about."""
    if not plan.queues:
        return [http_filter(plan)]
    asks = http_filter(plan)
    config = {**asks["typed_config"], "filter_enabled_metadata": unless_admitted()}
    return [ticket_filter(plan), {**asks, "typed_config": config}]


def http_filter(plan: Plan) -> Mapping[str, Any]:
    """The filter that asks."""
    on_success = [{"exact": name} for name in TO_CLIENT]
    on_success += [{"prefix": prefix} for prefix in TO_CLIENT_PREFIXES]
    to_service = [{"prefix": TO_SERVICE}, *({"exact": name} for name in plan.headers)]
    return {
        "name": "envoy.filters.http.ext_authz",
        "typed_config": {
            "@type": TYPE,
            "http_service": {
                "server_uri": {
                    "uri": f"http://{CLUSTER}",
                    "cluster": CLUSTER,
                    "timeout": f"{TIMEOUT_MS / 1_000:g}s",
                },
                "path_prefix": ENVOY_PREFIX,
                "authorization_response": {
                    "allowed_upstream_headers": {"patterns": to_service},
                    "allowed_client_headers_on_success": {"patterns": on_success},
                },
            },
            "allowed_headers": {"patterns": [{"safe_regex": {"regex": ".*"}}]},
            "failure_mode_allow": plan.admits,
            "status_on_error": {"code": "ServiceUnavailable"},
        },
    }


def cluster(plan: Plan) -> Mapping[str, Any]:
    """The agent."""
    host, port = plan.agent
    address = {"socket_address": {"address": host, "port_value": port}}
    limits = dict.fromkeys(("max_connections", "max_pending_requests", "max_requests"), AT_ONCE)
    return {
        "name": CLUSTER,
        "type": "STATIC",
        "connect_timeout": "0.25s",
        "load_assignment": {
            "cluster_name": CLUSTER,
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address}}]}],
        },
        "common_lb_config": {
            "healthy_panic_threshold": {"value": 0},
            "update_merge_window": "0s",
        },
        "outlier_detection": {
            "split_external_local_origin_errors": True,
            "consecutive_local_origin_failure": 3,
            "enforcing_consecutive_local_origin_failure": 100,
            "enforcing_local_origin_success_rate": 0,
            "enforcing_consecutive_5xx": 0,
            "enforcing_consecutive_gateway_failure": 0,
            "enforcing_success_rate": 0,
            "interval": "0.25s",
            "base_ejection_time": "1s",
            "max_ejection_time": "5s",
            "max_ejection_percent": 100,
        },
        # Ejection is quick and ends by itself; this keeps a hung agent out for as long as it hangs.
        "health_checks": [
            {
                "timeout": "0.1s",
                "interval": "0.25s",
                "no_traffic_interval": "0.25s",
                "unhealthy_threshold": 2,
                "healthy_threshold": 1,
                "http_health_check": {"path": HEALTH_PATH},
            }
        ],
        "circuit_breakers": {"thresholds": [limits]},
        "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                "@type": "type.googleapis.com/"
                "envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
                "common_http_protocol_options": {"idle_timeout": f"{IDLE_S}s"},
                "explicit_http_config": {"http_protocol_options": {}},
            }
        },
    }
