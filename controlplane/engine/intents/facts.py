"""What forecasts of intents read, and the load that is expected of recent samples."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from controlplane.domain.instances.marking import Out
from controlplane.domain.intents.demands import Down, shares_of
from controlplane.domain.intents.overlay import rows_by_service
from controlplane.domain.services import Service
from controlplane.domain.snapshot import Content
from controlplane.domain.telemetry import ServiceWindow, reading
from controlplane.domain.topology import Fleet

# A data centre that has just died reports nothing: what it bore until lately counts.
LATELY_S = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a forecast reads.

    Attributes:
        content: what would be published without intents.
        earlier: revision -> its content, of rollbacks.
        window: service -> its recent samples.
        gateways: how many share a limit, >= 1.
        fresh_s: a sample that is older says nothing of now.
        out: endpoints that health takes out, by service.
    """

    fleet: Fleet
    content: Content
    earlier: Mapping[int, Content]
    window: Callable[[str], ServiceWindow]
    down: Down
    gateways: int
    fresh_s: float
    now_s: float
    out: Out = field(default_factory=dict)


def expected_loads(facts: Facts) -> dict[str, float]:
    """Service -> requests per second; a service is left out when nobody tells."""
    rows = rows_by_service(facts.content)
    found = {}
    for service in facts.fleet.services:
        shares = shares_of(rows.get(service.name, ()))
        rate = _rate(service, shares, facts)
        if math.isfinite(rate):
            found[service.name] = rate
    return found


def _rate(service: Service, shares: Mapping[str, float], facts: Facts) -> float:
    window = facts.window(service.name)
    rates = []
    for cluster in service.centers:
        newest = window.latest(cluster.datacenter)
        age_s = window.age_s(cluster.datacenter, facts.now_s)
        bears = shares.get(cluster.datacenter, 0.0) > 0
        if newest is not None and age_s <= (LATELY_S if bears else facts.fresh_s):
            rates.append(reading(newest, "request_rate_rps"))
        elif bears and cluster.endpoints:
            return math.nan
    return math.fsum(rates) if rates else math.nan
