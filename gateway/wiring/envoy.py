"""Envoy: the filter ext_authz and the cluster of the agent, as the control plane makes them."""

from collections.abc import Mapping
from typing import Any

import yaml

from controlplane.domain.admission.envoy_asks import agent_cluster, asking_filters
from controlplane.domain.admission.native_tickets import ticket_filter, unless_admitted
from gateway.wiring.plan import Plan

CLUSTER = "signalbox_agent"
NOTES = """\
# Put the filter in front of the router, after whatever brings paths into normal form, and the
# cluster among the clusters. Where nothing is to be asked, a route says so:
#   typed_per_filter_config: {envoy.filters.http.ext_authz:
#     {"@type": type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute,
#      disabled: true}}
# Where another word holds while the agent is away (`when_away` of a policy), a route says so:
#   typed_per_filter_config:
#     envoy.filters.http.ext_authz:
#       {"@type": type.googleapis.com/envoy.config.route.v3.FilterConfig, disabled: true}
#     envoy.filters.http.ext_authz.refuse:
#       {"@type": type.googleapis.com/envoy.config.route.v3.FilterConfig, config:
#         {"@type": type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute,
#          check_settings: {}}}
# and the same with `.admit` in place of `.refuse`.
# `use_remote_address: true` of the connection manager makes X-Forwarded-For true.
"""
PER_ROUTE = """\
# Several queues: each route says which one it belongs to, and one without it asks always:
#   typed_per_filter_config: {envoy.filters.http.jwt_authn:
#     {"@type": type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.PerRouteConfig,
#      requirement_name: QUEUE}}
"""


def envoy(plan: Plan) -> str:
    """Both parts as YAML."""
    parts = {"http_filters": http_filters(plan), "clusters": [cluster(plan)]}
    notes = NOTES + (PER_ROUTE if len(plan.queues) > 1 else "")
    return notes + yaml.safe_dump(parts, sort_keys=False, width=100)


def http_filters(plan: Plan) -> list[Mapping[str, Any]]:
    """The filters in their order: who holds a valid ticket is not asked about."""
    asks = asking_filters(plan.door, CLUSTER)
    if not plan.queues:
        return list(asks)
    keys = dict.fromkeys(plan.queues, plan.ticket_keys)
    everywhere = plan.queues[0] if len(plan.queues) == 1 else ""
    return [ticket_filter(keys, everywhere), *map(unless_admitted, asks)]


def cluster(plan: Plan) -> Mapping[str, Any]:
    """The agent."""
    return agent_cluster(plan.door, CLUSTER)
