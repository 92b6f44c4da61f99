"""Who gets a station's message, and how much of a region goes elsewhere.

The load of a server is B = alpha N / Nmax + (1 - alpha) P (S2). A message goes home while home is
below the critical load, and otherwise to the least loaded of the others. Taken literally the whole
region leaves when a reported P is high, comes back with the next report, and so on. So a share of
the region's stations goes elsewhere, always the same ones: at each tick it is set to what brings B
to the middle of the band between return and critical load, B being in proportion to what comes
home; within the band it stays. N is counted here, at once, and is a limit at any moment.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from controlplane.domain.admission.asking import ADMITTED, Asked, Decision, Verdict
from controlplane.domain.admission.regional_overflow.policy import RegionalOverflowPolicy

# What is at home may grow by so much in one tick when it comes back.
RETURN = 1.25
# A home that got nothing at all begins with so much.
LEAST_HOME = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLoad:
    """One regional server.

    Attributes:
        datacenter: whose it is; region: of which it is the home.
        connections: open now.
        pool_use: of its database, 0..1, as reported last; None when nobody tells.
        alive: it can be given messages.
    """

    datacenter: str
    region: str
    connections: int = 0
    pool_use: float | None = None
    alive: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class OverflowFacts:
    """What is known beside the message: the servers, and the share of each region that goes
    elsewhere, 0..1, 0 when left out."""

    servers: tuple[ServerLoad, ...] = ()
    away: Mapping[str, float] = field(default_factory=dict)


def load(policy: RegionalOverflowPolicy, server: ServerLoad) -> float:
    """B; connections alone while the use of the pool is unknown."""
    used = server.connections / policy.connection_limit
    if server.pool_use is None:
        return used
    return policy.alpha * used + (1.0 - policy.alpha) * server.pool_use


def decide(policy: RegionalOverflowPolicy, asked: Asked, facts: OverflowFacts) -> Decision:
    """Where a message goes: `ADMIT` is home, `DIVERT` names the data centre.

    `asked.user` is the station, `asked.region` its region.
    """
    for server in order(policy, asked, facts):
        details = {"datacenter": server.datacenter, "load": load(policy, server)}
        if server.region == asked.region:
            return Decision(verdict=Verdict.ADMIT, details=details)
        return Decision(
            verdict=Verdict.DIVERT,
            reason="region_overflow",
            service=asked.service,
            details=details,
        )
    if not facts.servers:
        return ADMITTED
    return Decision(verdict=Verdict.REFUSE, reason="no_server_alive", status=503)


def order(
    policy: RegionalOverflowPolicy, asked: Asked, facts: OverflowFacts
) -> tuple[ServerLoad, ...]:
    """Servers that are alive in the order in which a message tries them."""
    alive = sorted(
        (one for one in facts.servers if one.alive),
        key=lambda one: (load(policy, one), one.datacenter),
    )
    home = [one for one in alive if one.region == asked.region]
    others = [one for one in alive if one.region != asked.region]
    if home and not others:
        return tuple(home)
    if not home or not _leaves(policy, home[0], asked, facts):
        return (*home, *others)
    if load(policy, others[0]) >= policy.critical_load:
        # Nobody has room: as they are loaded, and home counts as the others do.
        return tuple(alive)
    return (*others, *home)


def next_away(policy: RegionalOverflowPolicy, away: float, home: ServerLoad | None) -> float:
    """The share of a region that goes elsewhere from the next tick on, 0..1.

    Args:
        away: as it is now.
        home: the region's server; None, or a dead one, changes nothing: it gets none anyway, and
            comes back with what it had.
    """
    if home is None or not home.alive:
        return away
    at_home = 1.0 - away
    found = load(policy, home)
    mark = (policy.critical_load + policy.return_load) / 2
    if found >= policy.critical_load:
        return 1.0 - at_home * mark / found
    if found > policy.return_load or at_home >= 1.0:
        return away
    grown = max(LEAST_HOME, at_home * min(RETURN, mark / max(found, 1e-9)))
    return max(0.0, 1.0 - grown)


def regions(servers: Iterable[ServerLoad]) -> Mapping[str, ServerLoad]:
    """Region -> its least loaded server that is alive, or any."""
    found: dict[str, ServerLoad] = {}
    for one in sorted(servers, key=lambda one: (not one.alive, one.connections, one.datacenter)):
        found.setdefault(one.region, one)
    return found


def _leaves(
    policy: RegionalOverflowPolicy, home: ServerLoad, asked: Asked, facts: OverflowFacts
) -> bool:
    full = home.connections >= policy.critical_load * policy.connection_limit
    return full or _place(asked.user) < facts.away.get(asked.region, 0.0)


def _place(station: str) -> float:
    """Where a station stands among all, in [0, 1)."""
    digest = hashlib.blake2b(station.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "big") / 2**32
