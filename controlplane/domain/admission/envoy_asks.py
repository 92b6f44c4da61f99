"""How an Envoy asks an agent, as Envoy's own JSON: the filter ext_authz and the agent's cluster.

Used for Envoys that get everything from the control plane, and as text for those that do not. Two
thirds of it keep an agent that hangs from costing anything: a deadline, ejection after three
failures, checks that keep it out for as long as it hangs, and no panic. The agent's own 503 to a
client that has to wait is no failure of the agent, so only what Envoy sees itself (no connection,
no answer in time) counts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from controlplane.domain.admission.agent_door import (
    ENVOY_PREFIX,
    HEALTH_PATH,
    TIMEOUT_MS,
    TO_CLIENT,
    TO_CLIENT_PREFIXES,
    TO_SERVICE,
    AgentDoor,
    WhenAway,
)

FILTER = "envoy.filters.http.ext_authz"
TYPE = "type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz"
# Filters that ask as the usual one does, with another way on while the agent is away: off but on
# routes that name them. Every listener with an agent has both, so that no route can name one that
# its listener does not know yet, and would not be asked about.
ASKS_AND: Mapping[WhenAway, str] = {each: f"{FILTER}.{each}" for each in WhenAway}
PROTOCOL = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
# Idle connections end here before the agent ends them.
IDLE_S = 60
AT_ONCE = 1_024

Json = Mapping[str, Any]


def asking_filter(door: AgentDoor, cluster: str) -> dict[str, Any]:
    """The filter that asks."""
    on_success = [{"exact": name} for name in TO_CLIENT]
    on_success += [{"prefix": prefix} for prefix in TO_CLIENT_PREFIXES]
    to_service = [{"prefix": TO_SERVICE}, *({"exact": name.lower()} for name in door.headers)]
    return {
        "name": FILTER,
        "typed_config": {
            "@type": TYPE,
            "http_service": {
                "server_uri": {
                    "uri": "http://signalbox-agent",
                    "cluster": cluster,
                    "timeout": f"{TIMEOUT_MS / 1_000:.3f}s",
                },
                "path_prefix": ENVOY_PREFIX,
                "authorization_response": {
                    "allowed_upstream_headers": {"patterns": to_service},
                    "allowed_client_headers_on_success": {"patterns": on_success},
                },
            },
            "allowed_headers": {"patterns": [{"safe_regex": {"regex": ".*"}}]},
            # What policies say may choose another route: a slow queue, a level of risk.
            "clear_route_cache": True,
            "failure_mode_allow": door.admits,
            "status_on_error": {"code": "ServiceUnavailable"},
        },
    }


def asking_filters(door: AgentDoor, cluster: str) -> Iterator[dict[str, Any]]:
    """The filter that asks, and those for routes with a word of their own."""
    yield asking_filter(door, cluster)
    for each, name in ASKS_AND.items():
        other = asking_filter(replace(door, when_away=each), cluster)
        yield other | {"name": name, "disabled": True}


def agent_cluster(door: AgentDoor, name: str) -> Json:
    """The agent."""
    address = {"socket_address": {"address": door.address, "port_value": door.port}}
    limits = dict.fromkeys(("max_connections", "max_pending_requests", "max_requests"), AT_ONCE)
    return {
        "name": name,
        "type": "STATIC",
        "connect_timeout": "0.250s",
        "load_assignment": {
            "cluster_name": name,
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address}}]}],
        },
        "common_lb_config": {
            "healthy_panic_threshold": {"value": 0},
            "update_merge_window": "0s",
        },
        "outlier_detection": _outlier_detection(),
        "health_checks": [_health_check()],
        "circuit_breakers": {"thresholds": [limits]},
        "typed_extension_protocol_options": {
            PROTOCOL: {
                "@type": f"type.googleapis.com/{PROTOCOL}",
                "common_http_protocol_options": {"idle_timeout": f"{IDLE_S}s"},
                "explicit_http_config": {"http_protocol_options": {}},
            }
        },
    }


def _outlier_detection() -> Json:
    return {
        "split_external_local_origin_errors": True,
        "consecutive_local_origin_failure": 3,
        "enforcing_consecutive_local_origin_failure": 100,
        "enforcing_local_origin_success_rate": 0,
        "enforcing_consecutive_5xx": 0,
        "enforcing_consecutive_gateway_failure": 0,
        "enforcing_success_rate": 0,
        "interval": "0.250s",
        "base_ejection_time": "1s",
        "max_ejection_time": "5s",
        "max_ejection_percent": 100,
    }


def _health_check() -> Json:
    # Ejection is quick and ends by itself; this keeps a hung agent out for as long as it hangs.
    return {
        "timeout": "0.100s",
        "interval": "0.250s",
        "no_traffic_interval": "0.250s",
        "unhealthy_threshold": 2,
        "healthy_threshold": 1,
        "http_health_check": {"path": HEALTH_PATH},
    }
