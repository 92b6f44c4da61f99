"""Envoy: the filter ext_authz and the cluster of the agent, as the control plane makes them."""

from collections.abc import Mapping
from typing import Any

import yaml

from controlplane.domain.admission.envoy_asks import agent_cluster, asking_filter
from gateway.wiring.plan import Plan
from gateway.wiring.tickets import PER_ROUTE, ticket_filter, unless_admitted

CLUSTER = "signalbox_agent"
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
    return asking_filter(plan.door, CLUSTER)


def cluster(plan: Plan) -> Mapping[str, Any]:
    """The agent."""
    return agent_cluster(plan.door, CLUSTER)
