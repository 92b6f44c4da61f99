"""Breakers in the clusters of a service, its versions and its queues."""

from dataclasses import replace

from envoy.config.cluster.v3 import cluster_pb2

from controlplane.adapters.envoy.clusters import cluster
from controlplane.adapters.envoy.render import Renderer
from controlplane.domain.admission.circuit_breaker import CircuitBreakerPolicy
from controlplane.domain.admission.policy import Attachment, Policy
from controlplane.domain.routing.route import SlowQueue
from tests.adapters.envoy.site import SMALL, snapshot

REST = Policy(
    name="rest",
    attachment=Attachment(services=("web",)),
    circuit_breaker=CircuitBreakerPolicy(
        error_ratio=0.291, requests=7, window_s=0.5, open_s=2.0, most_open_s=8.0
    ),
)
QUEUED = replace(SMALL.routes[0], queue=SlowQueue(concurrent=3, waiting=2))


def clusters(renderer: Renderer, *policies: Policy) -> dict[str, cluster_pb2.Cluster]:
    declared = replace(SMALL, policies=policies, routes=(QUEUED, *SMALL.routes[1:]))
    parts = renderer.render(snapshot(declared, 1)).parts
    found = (cluster_pb2.Cluster.FromString(data) for name, data in parts if "cluster/" in name)
    return {message.name: message for message in found}


def test_all_clusters_of_the_service_have_it_and_no_other() -> None:
    renderer = Renderer()
    before, made = clusters(renderer), clusters(renderer, REST)
    changed = {name for name in made if made[name] != before[name]}
    assert changed == {"web", "web~all"}
    found = made["web"].outlier_detection
    assert found.interval.ToMilliseconds() == 500
    assert found.base_ejection_time.ToMilliseconds() == 2_000
    assert found.max_ejection_time.ToMilliseconds() == 8_000
    # As little as was declared opens it.
    assert found.failure_percentage_threshold.value == 30
    assert found.failure_percentage_request_volume.value == 7
    assert found.enforcing_failure_percentage.value == 100
    assert clusters(renderer) == before


def test_what_makes_an_endpoint_leave_at_once_stays() -> None:
    usual = cluster(snapshot(SMALL, 1).content.endpoints.services[1]).outlier_detection
    found = clusters(Renderer(), REST)["web"].outlier_detection
    assert found.consecutive_gateway_failure == usual.consecutive_gateway_failure
    assert found.consecutive_5xx == usual.consecutive_5xx
    assert found.max_ejection_percent.value == 100
