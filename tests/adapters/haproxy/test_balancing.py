"""How HAProxy chooses a server, by the service's way of choosing."""

from dataclasses import replace

import pytest

from controlplane.adapters.haproxy.backends import Reach, section
from controlplane.adapters.haproxy.targets import Target
from controlplane.domain.services import LoadBalancing
from tests.proxied_site import fleet, snapshot


@pytest.mark.parametrize(
    ("balancing", "lines"),
    [
        (LoadBalancing.MAGLEV, ["balance hash var(txn.who)", "hash-type consistent"]),
        (
            LoadBalancing.BOUNDED_HASH,
            ["balance hash var(txn.who)", "hash-type consistent", "hash-balance-factor 125"],
        ),
        (LoadBalancing.ROUND_ROBIN, ["balance roundrobin"]),
        (LoadBalancing.LEAST_CONNECTIONS, ["balance leastconn"]),
    ],
)
def test_ways_of_choosing(balancing: LoadBalancing, lines: list[str]) -> None:
    service = replace(snapshot(fleet()).content.endpoints.services[0], load_balancing=balancing)
    reach = Reach(service=service, weights={})
    made = list(section(Target(name="s", service=service.service, version="*"), reach))
    at = made.index("option allbackups")
    assert made[at - len(lines) : at] == lines
