"""Where a gateway asks the agent beside it, and what holds while the agent does not answer.

Declared of a gateway group, read by whatever configures a proxy. What a proxy and the agent have to
agree on stands here once.
"""

from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.findings import Observation

# A question takes no longer; the agent itself answers in less, or falls back.
TIMEOUT_MS = 20
# Envoy puts this in front of the path that it asks about.
ENVOY_PREFIX = "/envoy"
# Proxies look here whether the agent is there.
HEALTH_PATH = "/healthz"
# What policies tell the service, and what they tell the client.
TO_SERVICE = "x-admission-"
TO_CLIENT = ("set-cookie", "retry-after")
TO_CLIENT_PREFIXES = ("x-admission-", "x-ratelimit-", "ratelimit")


class WhenAway(StrEnum):
    """What becomes of requests while the agent does not answer."""

    ADMIT = "admit"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDoor:
    """The agent of each gateway of a group.

    Attributes:
        address: an IP address; usually loopback, each gateway has an agent of its own.
        port: of its forward-auth, 1..65,535.
        headers: that policies set for the service beside those that begin with `x-admission-`.
    """

    address: str = "127.0.0.1"
    port: int = 18_003
    when_away: WhenAway = WhenAway.ADMIT
    headers: tuple[str, ...] = ()

    @property
    def admits(self) -> bool:
        """Requests go on while the agent is away."""
        return self.when_away is WhenAway.ADMIT


def unasked(group: str, door: AgentDoor | None, plane: str) -> tuple[Observation, ...]:
    """What is to be said where a plane's own files do not ask the agent of its group."""
    if door is None:
        return ()
    return (
        Observation(
            code="agent_not_asked",
            subject=f"gateway/{group}",
            message=f"group {group} has an agent, and {plane} is not told from here to ask it: put "
            "the agent's own proxy in front (`signalbox gateway run --proxy`), or take Envoy",
            held="its requests go on without being asked about",
        ),
    )
