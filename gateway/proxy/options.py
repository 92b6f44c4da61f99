"""What the reverse proxy is told at its start."""

import ipaddress
from dataclasses import dataclass

from controlplane.domain.errors import Invalid

LIMITS = (
    ("most_connections", 1, 1_000_000),
    ("most_header_bytes", 1_024, 1_048_576),
    ("most_body_bytes", 0, 1 << 40),
    ("head_s", 0.1, 300),
    ("idle_s", 0.1, 3_600),
    ("keep_s", 0.1, 3_600),
    ("connect_s", 0.05, 60),
    ("most_upstream", 1, 1_000_000),
    ("upstream_keep_s", 0.1, 3_600),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyOptions:
    """One reverse proxy.

    Attributes:
        trusted: networks (CIDR) of proxies in front, whose `X-Forwarded-*` and `X-Request-Id` are
            believed; of everybody else they are replaced.
        most_connections: of clients at once, 1..1,000,000; more are answered 503.
        most_header_bytes: names and values together, 1,024..1,048,576; one header and the request
            line have at most 8,190 each, and there are at most 128.
        most_body_bytes: largest body of a request.
        head_s: until the head of a request is in, 0.1..300.
        idle_s: longest pause in a body, either way, 0.1..3,600.
        keep_s: a client's idle connection stays open, 0.1..3,600.
        connect_s: until an endpoint has taken a connection, 0.05..60.
        most_upstream: connections to endpoints at once; more wait.
        upstream_keep_s: an endpoint's idle connection stays open; less than the endpoint keeps it.
    """

    trusted: tuple[str, ...] = ()
    most_connections: int = 4_096
    most_header_bytes: int = 32_768
    most_body_bytes: int = 16_777_216
    head_s: float = 10.0
    idle_s: float = 60.0
    keep_s: float = 75.0
    connect_s: float = 1.0
    most_upstream: int = 4_096
    upstream_keep_s: float = 4.0

    def __post_init__(self) -> None:
        """Refuse what can never be carried out: Invalid, `option_invalid`."""
        for name, low, high in LIMITS:
            value = getattr(self, name)
            if not low <= value <= high:
                raise Invalid("option_invalid", f"{name} is {value:g}: give {low:g}..{high:g}")
        for network in self.trusted:
            try:
                ipaddress.ip_network(network)
            except ValueError as error:
                words = f"trusted has {network!r}: give a network, as 10.0.0.0/8"
                raise Invalid("option_invalid", words) from error
