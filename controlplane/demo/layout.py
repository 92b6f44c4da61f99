"""Who listens where in the demo: lanes, data centres, endpoints, ports. Children get it as one JSON
file.

Called by every process of the demo. A lane is a service of its own with its own workers in each
data centre and its own route on the shared Envoy; all lanes get the same arrivals, so that they
differ only by the split of traffic.
"""

from __future__ import annotations

import json
import socket
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from controlplane.demo.background import Background
from controlplane.demo.demand import Demand

HOST = "127.0.0.1"
PORTS_PER_LANE = 20
FIRST_ENDPOINT_OFFSET = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """A service with its route `/<name>`; the endpoint counts are per data centre in the order of
    the layout.
    """

    name: str
    endpoints: tuple[int, ...] = (5, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Datacenter:
    """A local data centre: `workers` per lane, queue bound per lane, batch load of its own."""

    name: str
    workers: int
    queue_limit: int = 400
    background: Background


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The whole rig. All ports derive from `base_port`."""

    base_port: int = 18000
    epoch_s: float = 0.0
    lanes: tuple[Lane, ...]
    datacenters: tuple[Datacenter, ...]
    demand: Demand = field(default_factory=Demand)

    @property
    def api_port(self) -> int:
        """The control plane's REST API."""
        return self.base_port

    @property
    def ads_port(self) -> int:
        """The control plane's discovery service."""
        return self.base_port + 1

    @property
    def envoy_port(self) -> int:
        """Envoy's listener."""
        return self.base_port + 2

    @property
    def envoy_admin_port(self) -> int:
        """Envoy's admin interface."""
        return self.base_port + 3

    def datacenter(self, name: str) -> Datacenter:
        """The data centre of that name; KeyError when there is none."""
        return self.datacenters[self._index(name)]

    def admin_port(self, datacenter: str) -> int:
        """Where a data centre process tells its counters."""
        return self.base_port + 10 + self._index(datacenter)

    def endpoint_ports(self, datacenter: str, lane: str) -> tuple[int, ...]:
        """The ports of one lane's endpoints in one data centre."""
        where = self._index(datacenter)
        number = [x.name for x in self.lanes].index(lane)
        first = self.base_port + FIRST_ENDPOINT_OFFSET + number * PORTS_PER_LANE
        first += sum(self.lanes[number].endpoints[:where])
        return tuple(range(first, first + self.lanes[number].endpoints[where]))

    def all_ports(self) -> list[int]:
        """Every port the rig listens on."""
        own = [self.api_port, self.ads_port, self.envoy_port, self.envoy_admin_port]
        for centre in self.datacenters:
            own.append(self.admin_port(centre.name))
            own += [p for lane in self.lanes for p in self.endpoint_ports(centre.name, lane.name)]
        return own

    def on_free_ports(self) -> Layout:
        """This layout on the first base port, in steps of 500, where every port is free; OSError
        when none is.
        """
        for base in range(self.base_port, 60000, 500):
            candidate = replace(self, base_port=base)
            if all(_is_free(port) for port in candidate.all_ports()):
                return candidate
        raise OSError(f"demo: no {len(self.all_ports())} free ports above {self.base_port}")

    def write(self, path: Path) -> None:
        """Write the layout for the child processes."""
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")

    def _index(self, datacenter: str) -> int:
        names = [x.name for x in self.datacenters]
        if datacenter not in names:
            raise KeyError(f"no data centre {datacenter!r} in the layout; it has {names}")
        return names.index(datacenter)


def read_layout(path: Path) -> Layout:
    """Read a layout that `Layout.write` wrote."""
    raw = json.loads(path.read_text())
    lanes = tuple(Lane(name=x["name"], endpoints=tuple(x["endpoints"])) for x in raw["lanes"])
    centres = tuple(
        Datacenter(**{**x, "background": Background(**x["background"])}) for x in raw["datacenters"]
    )
    return Layout(
        base_port=raw["base_port"],
        epoch_s=raw["epoch_s"],
        lanes=lanes,
        datacenters=centres,
        demand=Demand(**raw["demand"]),
    )


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
