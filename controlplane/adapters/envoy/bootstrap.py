"""What an Envoy starts with: who it is, where its configuration comes from.

Called by `signalbox envoy bootstrap`. The `_xds` cluster has the control plane first and the agent
beside the Envoy second, so that an Envoy that starts while the control plane is away still serves.
"""

import ipaddress
from dataclasses import dataclass

import yaml

from controlplane.adapters.envoy.runtime import MAX_PROGRAM_SIZE, RUNTIME_LAYER
from controlplane.domain.routing.expressions import LARGEST_PROGRAM

# No service can have this name; one that did would be ignored by Envoy, and its users sent here.
XDS_CLUSTER = "_xds"
HTTP_OPTIONS = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
CONNECT_TIMEOUT = "0.25s"
# A control plane that hangs still takes connections, so it is asked whether it is alive. A new
# Envoy asks at once; a thousand Envoys ask a thousand times in each interval.
HEALTH_CHECK_TIMEOUT = "1s"
HEALTH_CHECK_INTERVAL = "5s"
# How soon a control plane that was away is found again.
UNHEALTHY_INTERVAL = "1s"
HEALTH_CHECK_JITTER_PCT = 20
# A stream to a control plane that hangs ends after both.
KEEPALIVE = {"interval": "3s", "timeout": "2s"}

# What YAML is made of; this text is all that leaves the module.
Yaml = str | int | bool | list["Yaml"] | dict[str, "Yaml"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapOptions:
    """One Envoy.

    Attributes:
        node: its id; group: its gateway group.
        control_plane, agent: (host, port) of ADS; without an agent there is no second endpoint.
        token: secret of a gateway token, written into the file.
        region, zone: where it stands; statistics per data centre need a zone.
    """

    node: str
    group: str
    control_plane: tuple[str, int] = ("127.0.0.1", 18_000)
    agent: tuple[str, int] | None = ("127.0.0.1", 18_001)
    token: str = ""
    admin: tuple[str, int] = ("127.0.0.1", 9_901)
    region: str = "local"
    zone: str = "gateway"


def render(options: BootstrapOptions) -> str:
    """The bootstrap file as YAML text."""
    document: Yaml = {
        "node": {
            "id": options.node,
            "cluster": options.group,
            "locality": {"region": options.region, "zone": options.zone},
        },
        "admin": {"address": _address(options.admin)},
        # Else histograms are as old as the last flush when somebody reads them.
        "stats_flush_on_admin": True,
        "layered_runtime": {
            "layers": [
                {
                    "name": RUNTIME_LAYER,
                    "static_layer": {MAX_PROGRAM_SIZE: LARGEST_PROGRAM},
                },
                {"name": "admin", "admin_layer": {}},
            ]
        },
        # What becomes of requests reaches the control plane's health on a stream of its own.
        "cluster_manager": {"load_stats_config": _load_stats(options.token)},
        "dynamic_resources": {
            "ads_config": _ads_config(options.token),
            "cds_config": _from_ads(),
            "lds_config": _from_ads(),
        },
        "static_resources": {"clusters": [_xds_cluster(options)]},
    }
    return yaml.safe_dump(document, sort_keys=False)


def _from_ads() -> Yaml:
    return {"resource_api_version": "V3", "ads": {}}


def _ads_config(token: str) -> Yaml:
    return {
        "api_type": "GRPC",
        "transport_api_version": "V3",
        "set_node_on_first_message_only": True,
        "grpc_services": [_control_plane(token)],
    }


def _load_stats(token: str) -> Yaml:
    return {
        "api_type": "GRPC",
        "transport_api_version": "V3",
        "grpc_services": [_control_plane(token)],
    }


def _control_plane(token: str) -> dict[str, Yaml]:
    service: dict[str, Yaml] = {
        "envoy_grpc": {
            "cluster_name": XDS_CLUSTER,
            "retry_policy": {"retry_back_off": {"base_interval": "0.1s", "max_interval": "0.5s"}},
        }
    }
    if token:
        service["initial_metadata"] = [{"key": "authorization", "value": f"Bearer {token}"}]
    return service


def _xds_cluster(options: BootstrapOptions) -> Yaml:
    sources = [options.control_plane] + ([options.agent] if options.agent else [])
    names = any(not _is_address(host) for host, _ in sources)
    return {
        "name": XDS_CLUSTER,
        "type": "STRICT_DNS" if names else "STATIC",
        "connect_timeout": CONNECT_TIMEOUT,
        "typed_extension_protocol_options": {
            HTTP_OPTIONS: {
                "@type": f"type.googleapis.com/{HTTP_OPTIONS}",
                "explicit_http_config": {
                    "http2_protocol_options": {"connection_keepalive": dict(KEEPALIVE)}
                },
            }
        },
        "health_checks": [_health_check()],
        "load_assignment": {
            "cluster_name": XDS_CLUSTER,
            "endpoints": [
                {
                    "priority": priority,
                    "lb_endpoints": [{"endpoint": {"address": _address(source)}}],
                }
                for priority, source in enumerate(sources)
            ],
        },
    }


def _health_check() -> Yaml:
    return {
        "timeout": HEALTH_CHECK_TIMEOUT,
        "interval": HEALTH_CHECK_INTERVAL,
        "no_traffic_interval": HEALTH_CHECK_INTERVAL,
        "unhealthy_interval": UNHEALTHY_INTERVAL,
        "unhealthy_edge_interval": UNHEALTHY_INTERVAL,
        "interval_jitter_percent": HEALTH_CHECK_JITTER_PCT,
        "healthy_threshold": 1,
        "unhealthy_threshold": 2,
        "grpc_health_check": {},
    }


def _address(place: tuple[str, int]) -> Yaml:
    return {"socket_address": {"address": place[0], "port_value": place[1]}}


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
