"""Regional servers as this diverter sees them: connections, life, pool use, and who goes elsewhere.

Connections through this diverter are counted here; those that stations make themselves are not.
"""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import structlog

from controlplane.domain.admission.asking import Asked
from controlplane.domain.admission.regional_overflow.choice import (
    OverflowFacts,
    ServerLoad,
    load,
    next_away,
    order,
    regions,
)
from controlplane.domain.admission.regional_overflow.policy import RegionalOverflowPolicy
from controlplane.domain.snapshot import ServiceEndpoints

log = structlog.get_logger()

# What a server told of its pool is no longer true after so long.
FRESH_S = 15.0
# Failed messages in a row that make a server dead, and pauses between two tries of one that is:
# one message tries it, the others do not wait for it.
FAILURES = 2
PAUSE_S, MOST_PAUSE_S = 0.5, 30.0
Address = tuple[str, int]


@dataclass(slots=True, kw_only=True, eq=False)
class Server:
    """The server of one data centre; several addresses take turns."""

    datacenter: str
    region: str
    addresses: tuple[Address, ...]
    connections: int = 0
    failures: int = 0
    pause_s: float = PAUSE_S
    tried_s: float = 0.0
    pool_use: float | None = None
    told_s: float = 0.0
    turns: "itertools.cycle[Address]" = field(init=False)

    def __post_init__(self) -> None:
        """Begin with the first address."""
        self.turns = itertools.cycle(self.addresses)

    @property
    def alive(self) -> bool:
        """It has an address, and has not failed lately."""
        return bool(self.addresses) and self.failures < FAILURES


class Servers:
    """All servers of one service.

    Args:
        monotonic_s: the clock of what they tell.
    """

    def __init__(self, monotonic_s: Callable[[], float]) -> None:
        self._monotonic_s = monotonic_s
        self.policy = RegionalOverflowPolicy(default_region="*")
        self.by_center: dict[str, Server] = {}
        self.away: dict[str, float] = {}

    def take(self, service: ServiceEndpoints) -> None:
        """Go by these endpoints; what is known of a data centre stays known."""
        found: dict[str, Server] = {}
        for center in service.centers:
            usable = tuple(
                one for one in center.addresses if one not in (*center.out, *center.draining)
            )
            before = found.get(center.datacenter)
            addresses = (*before.addresses, *usable) if before else usable
            found[center.datacenter] = self._kept(center.datacenter, center.region, addresses)
        self.by_center = found

    def _kept(self, datacenter: str, region: str, addresses: tuple[Address, ...]) -> Server:
        known = self.by_center.get(datacenter)
        if known is None:
            return Server(datacenter=datacenter, region=region, addresses=addresses)
        if (known.region, known.addresses) == (region, addresses):
            return known
        # The object stays: open connections count themselves off there.
        known.region, known.addresses = region, addresses
        known.turns = itertools.cycle(addresses)
        return known

    def candidates(self, asked: Asked) -> tuple[Server, ...]:
        """Servers in the order in which a station's message tries them.

        One that is dead is tried first by one of its own messages now and then, and by all others
        when nobody else is left.
        """
        alive = [self.by_center[one.datacenter] for one in order(self.policy, asked, self.facts())]
        dead = [one for one in self.by_center.values() if one.addresses and one not in alive]
        now_s = self._monotonic_s()
        for one in dead:
            if one.region == asked.region and now_s - one.tried_s >= one.pause_s:
                one.tried_s, one.pause_s = now_s, min(MOST_PAUSE_S, 2 * one.pause_s)
                return (one, *alive, *(each for each in dead if each is not one))
        return (*alive, *dead)

    def facts(self) -> OverflowFacts:
        """What the domain decides from."""
        return OverflowFacts(
            servers=tuple(self._load(one) for one in self.by_center.values()), away=self.away
        )

    def loads(self) -> Mapping[str, float]:
        """Data centre -> B."""
        return {one.datacenter: load(self.policy, one) for one in self.facts().servers}

    def tick(self) -> None:
        """Set anew how much of each region goes elsewhere."""
        homes = regions(self.facts().servers)
        for region, home in homes.items():
            before = self.away.get(region, 0.0)
            after = next_away(self.policy, before, home)
            if (before > 0) is not (after > 0):
                log.info("diverter.region", region=region, away=round(after, 3))
            self.away[region] = after

    def told(self, datacenter: str, pool_use: float) -> bool:
        """A server told the use of its pool; False when nobody has that name."""
        server = self.by_center.get(datacenter)
        if server is None:
            return False
        server.pool_use, server.told_s = pool_use, self._monotonic_s()
        return True

    def well(self, server: Server) -> None:
        """It has answered, or taken a message that is not answered."""
        if not server.alive:
            log.info("diverter.server_back", datacenter=server.datacenter)
        server.failures, server.pause_s = 0, PAUSE_S

    def failed(self, server: Server) -> None:
        """It took no connection, or did not answer."""
        server.failures += 1
        if server.failures == FAILURES:
            server.tried_s = self._monotonic_s()
            log.warning("diverter.server_dead", datacenter=server.datacenter)

    def _load(self, server: Server) -> ServerLoad:
        stale = self._monotonic_s() - server.told_s > FRESH_S
        return ServerLoad(
            datacenter=server.datacenter,
            region=server.region,
            connections=server.connections,
            pool_use=None if stale else server.pool_use,
            alive=server.alive,
        )
