"""One data centre of a world, and the queue law that belongs to it.

Read by simulation.world from a [[centers]] table; simulation.physics computes with it.
"""

from dataclasses import dataclass
from typing import Annotated

from pydantic import ConfigDict, Field

from controlplane.domain.strategies.queue_law import CenterLaw

# Checked where a file is read. The upper bound is far above any site: it keeps arithmetic finite.
Amount = Annotated[float, Field(ge=0, le=1e9)]
Positive = Annotated[float, Field(gt=0, le=1e9)]
Share = Annotated[float, Field(ge=0, le=1)]
Hour = Annotated[float, Field(ge=0, le=24)]
CHECKED = ConfigDict(extra="forbid", allow_inf_nan=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CenterWorld:
    """One data centre. Those with a default are what a queue law does not know.

    Attributes:
        servers: parallel servers; service_ms: mean time of one request in a server.
        network_ms: time on the way, without load.
        variability: (ca^2 + cs^2) / 2, 1 for random arrivals and exponential service.
        contention: how much the service itself slows down at full load, as a share.
        saturation: the CPU utilization at which the centre is full; < 1 where something else
            than CPU is the bottleneck.
        idle_cpu, full_cpu: CPU without load and with all cores busy, 0..1.
        batch_mean, batch_sd, batch_minutes: load of its own as a share of capacity, its spread
            and how long it remembers.
        nightly_hour, nightly_load: a job of one hour each night, as a share of capacity.
        slowdowns_per_day, slowdown_minutes, slowdown_factor: episodes in which a request costs
            up to `slowdown_factor` as much.
        request_bytes: ingress bytes of one request.
        memory_idle, memory_load: memory without load, and what full load adds, with an hour's lag.
        wait_power, wait_pole: the wait grows as rho^power / (1 - rho)^pole; 0: Sakasegawa's power.
        knee_ms, knee_at: what garbage collection adds above the utilization `knee_at`.
        slow_service: the part of a slowdown that the service itself feels, beside the load.
        cold_cost, cold_minutes: a request that is new to this centre's caches takes
            1 + cold_cost times as long; the caches learn with this time constant.
    """

    __pydantic_config__ = CHECKED

    servers: Annotated[int, Field(ge=1, le=1_000_000)]
    service_ms: Positive
    network_ms: Amount
    variability: Amount
    contention: Amount
    saturation: Annotated[float, Field(gt=0, le=1)]
    idle_cpu: Share
    full_cpu: Share
    batch_mean: Share
    batch_sd: Share
    batch_minutes: Positive
    nightly_hour: Hour
    nightly_load: Share
    slowdowns_per_day: Amount
    slowdown_minutes: Positive
    slowdown_factor: Positive
    request_bytes: Amount
    memory_idle: Share
    memory_load: Share
    wait_power: Amount = 0.0
    wait_pole: Amount = 1.0
    knee_ms: Amount = 0.0
    knee_at: Share = 0.0
    slow_service: Share = 0.0
    cold_cost: Amount = 0.0
    cold_minutes: Positive = 5.0

    @property
    def capacity_rps(self) -> float:
        """Requests per second at utilization 1 without load of its own and slowdowns."""
        return self.servers / self.service_ms * 1000.0

    @property
    def law(self) -> CenterLaw:
        """The queue law of this centre: exact where all that has a default is left at it.

        tau = variability * service time / servers.
        """
        base_ms = self.service_ms + self.network_ms
        return CenterLaw(
            base_ms=base_ms,
            contention=self.contention * self.service_ms / base_ms,
            wait_ms=self.variability * self.service_ms / self.servers,
            servers=float(self.servers),
            saturation=self.saturation,
            idle_cpu=self.idle_cpu,
            full_cpu=self.full_cpu,
        )
