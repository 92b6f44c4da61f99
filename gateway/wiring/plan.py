"""What is wired."""

from dataclasses import dataclass

from controlplane.domain.admission.agent_door import AgentDoor, WhenAway
from gateway.options import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One proxy and the agent beside it.

    Attributes:
        agent: where the agent listens for proxies.
        checked: forward-auth of an agent that is asked through its proxy, for checks.
        spare: an address of the proxy's own that speaks for the agent while it is away; loopback.
        service: HOST:PORT of the site, for the example around the snippet.
        headers: further headers that policies set for the service.
        cookies: cookies that policies set for the client; Traefik passes on no others.
        queues: session queues whose tickets the proxy checks by itself.
        ticket_keys: public keys of those tickets, a JWK set.
        key_folder: where HAProxy's files of keys are.
    """

    agent: Place
    checked: Place = ("127.0.0.1", 18_003)
    spare: Place = ("127.0.0.1", 18004)
    service: Place = ("127.0.0.1", 8000)
    when_away: WhenAway = WhenAway.ADMIT
    headers: tuple[str, ...] = ()
    cookies: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    ticket_keys: str = ""
    key_folder: str = "/etc/haproxy"

    @property
    def door(self) -> AgentDoor:
        """The agent as the control plane knows it."""
        host, port = self.agent
        return AgentDoor(address=host, port=port, when_away=self.when_away, headers=self.headers)

    @property
    def admits(self) -> bool:
        """Requests go on while the agent is away."""
        return self.when_away is WhenAway.ADMIT


def at(place: Place) -> str:
    """HOST:PORT; IPv6 addresses in brackets."""
    host, port = place
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
