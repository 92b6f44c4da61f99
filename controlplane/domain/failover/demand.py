"""What a failover's plan is about: services with their loads, and the places that can bear them.

Made by `intents.demands`, read by `plan` and `placing`.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Bearer:
    """One data centre as a place for one service's load.

    Attributes:
        pool: key of the machines; services with the same key share them.
        tier: 0 are the centres that bear traffic in normal times; the higher, the later.
        share: of the service's traffic without the failover, 0..1.
        leaving: its traffic is taken away.
        usable: it can serve, and nothing else keeps traffic away from it.
        cost: work of one request in units of the pool's capacity, > 0; a request may cost more
            in one pool than in another.
    """

    datacenter: str
    pool: str
    tier: int = 0
    share: float = 0.0
    leaving: bool = False
    usable: bool = True
    cost: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What one service needs.

    Attributes:
        rank: of its class, 0 is the most important.
        rate_rps: expected requests per second, None when nobody knows.
    """

    service: str
    rank: int
    rate_rps: float | None
    bearers: tuple[Bearer, ...]
