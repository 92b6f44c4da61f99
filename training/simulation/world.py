"""A world: everything that a simulated pair of data centres is, before chance has its say.

Read from data/worlds/NAME.toml by name or from a file of one's own; simulation.simulator draws the
weather over it. Holds no state and draws nothing.
"""

import dataclasses
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from controlplane.domain.errors import Invalid
from controlplane.domain.strategies.queue_law import CenterLaw

Table = TypeVar("Table")


@dataclass(frozen=True, slots=True, kw_only=True)
class CenterWorld:
    """One data centre.

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
    """

    servers: int
    service_ms: float
    network_ms: float
    variability: float
    contention: float
    saturation: float
    idle_cpu: float
    full_cpu: float
    batch_mean: float
    batch_sd: float
    batch_minutes: float
    nightly_hour: float
    nightly_load: float
    slowdowns_per_day: float
    slowdown_minutes: float
    slowdown_factor: float
    request_bytes: float
    memory_idle: float
    memory_load: float

    @property
    def capacity_rps(self) -> float:
        """Requests per second at utilization 1 without load of its own and slowdowns."""
        return self.servers / self.service_ms * 1000.0

    @property
    def law(self) -> CenterLaw:
        """The true queue law of this centre: tau = variability * service time / servers."""
        return CenterLaw(
            base_ms=self.service_ms + self.network_ms,
            contention=self.contention,
            wait_ms=self.variability * self.service_ms / self.servers,
            servers=float(self.servers),
            saturation=self.saturation,
            idle_cpu=self.idle_cpu,
            full_cpu=self.full_cpu,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """How many requests come.

    Attributes:
        start_time_s: UTC epoch seconds of the first minute.
        peak_rps: height of the daily profile; night_share: the night's part of it.
        weekend_factor, holiday_factor: of the whole day; noise: relative, remembers minutes.
        release_hours: hours of the day when tickets are released; release_height: extra arrivals
            as a share of the peak; release_decay_minutes: how long the crowd stays.
        holiday_first_day, holiday_days: from day 0 of the run.
    """

    start_time_s: int
    peak_rps: float
    night_share: float
    weekend_factor: float
    release_hours: tuple[float, ...]
    release_height: float
    release_decay_minutes: float
    holiday_first_day: int
    holiday_days: int
    holiday_factor: float
    noise: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """The historical strategy: a ratio from experience, nudged a little every few minutes."""

    ratio: float
    ratio_sd: float
    hold_minutes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Two centres, who comes, and who split the traffic so far.

    `response_noise` is the relative noise of one minute's mean response time.
    """

    name: str
    response_noise: float
    arrivals: Arrivals
    operator: Operator
    primary: CenterWorld
    secondary: CenterWorld


def load_world(name: str) -> World:
    """Read a world by its name ("W1") or from a .toml file.

    Raises:
        Invalid: no such world, or a field is missing, unknown or of the wrong type.
    """
    path = Path(name)
    try:
        if path.suffix == ".toml":
            text = path.read_text(encoding="utf-8")
        else:
            text = files("data").joinpath("worlds", f"{name.lower()}.toml").read_text("utf-8")
        return _world(tomllib.loads(text))
    except OSError as error:
        message = f"no world {name!r}: give a name like W1 or the path of a .toml file"
        raise Invalid("world_unknown", message) from error
    except (TypeError, KeyError, tomllib.TOMLDecodeError) as error:
        raise Invalid("world_invalid", f"world {name!r}: {error}") from error


def _world(content: dict[str, Any]) -> World:
    return World(
        name=content["name"],
        response_noise=float(content["response_noise"]),
        arrivals=_table(Arrivals, content["arrivals"]),
        operator=_table(Operator, content["operator"]),
        primary=_table(CenterWorld, content["primary"]),
        secondary=_table(CenterWorld, content["secondary"]),
    )


def _table(kind: type[Table], content: dict[str, Any]) -> Table:
    known = {field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    if content.keys() != known:
        raise TypeError(
            f"missing {sorted(known - set(content))}, unknown {sorted(set(content) - known)}"
        )
    values = {
        key: tuple(value) if isinstance(value, list) else value for key, value in content.items()
    }
    return kind(**values)
