"""Whitelists: on their hosts, and for their channel, what no route matches is refused.

A whitelist is a route itself: a denial at `/` that comes before every other route there. So each
data plane can express it, and nothing slips between the two.
"""

from dataclasses import dataclass

from controlplane.domain.routing.route import Condition, FixedResponse, PathMatch, Route

# Above every priority that a route may declare.
FIRST = 1_000_000
_SUBJECT = "whitelist/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Whitelist:
    """Hosts on which only listed paths pass.

    Attributes:
        channel: what requests of the channel are like (a header of the mini-program); () is all.
        status: of the refusal.
    """

    id: str
    hosts: tuple[str, ...]
    channel: tuple[Condition, ...] = ()
    status: int = 403


def is_refusal(route: Route) -> bool:
    """Whether a route is the refusal of a whitelist; ids that are declared have no slash."""
    return route.id.startswith(_SUBJECT)


def refusal(whitelist: Whitelist) -> Route:
    """The route that refuses what is not listed."""
    return Route(
        id=f"{_SUBJECT}{whitelist.id}",
        path=PathMatch(),
        hosts=whitelist.hosts,
        conditions=whitelist.channel,
        priority=FIRST,
        response=FixedResponse(status=whitelist.status),
    )
