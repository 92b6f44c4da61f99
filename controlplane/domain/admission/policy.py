"""What is declared: a policy of one kind, how far it is enforced, and what it is attached to.

Read from the fleet, served in the snapshot's `admission` section, enforced by gateways.
"""

from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.admission.asking import Asked


class Mode(StrEnum):
    """How far a policy goes: `OBSERVE` decides, counts and logs, and lets everything through."""

    ENFORCE = "enforce"
    OBSERVE = "observe"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """Which requests a policy is asked about: all that are named under every list that is not
    empty; nothing named is everything.

    Attributes:
        routes: ids of routes.
        services: names of services, the upstreams of a gateway.
        regions: where requests come from.
    """

    routes: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()

    def covers(self, asked: Asked) -> bool:
        """Whether a request is one of these."""
        pairs = (
            (self.routes, asked.route),
            (self.services, asked.service),
            (self.regions, asked.region),
        )
        return all(not named or value in named for named, value in pairs)
