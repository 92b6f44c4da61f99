"""Who sent a request, and through whom: `X-Forwarded-*` as it is believed and handed on. Pure."""

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

FOR, PROTO, HOST = "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"
# What names a client or a host in place of us; an upstream may believe any of them.
CLAIMS = frozenset(
    {
        FOR,
        PROTO,
        HOST,
        "forwarded",
        "x-forwarded-port",
        "x-forwarded-server",
        "x-forwarded-prefix",
        "x-original-url",
        "x-real-ip",
        "x-rewrite-url",
    }
)
PROTOCOLS = frozenset({"http", "https"})

Networks = Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What is believed of a request.

    Attributes:
        source: address of the client; "" is unknown.
        headers: that say so to the upstream.
        through_trusted: the other end is a trusted proxy.
    """

    source: str
    headers: Mapping[str, str]
    through_trusted: bool


def claims(given: Mapping[str, str], host: str, peer: str, trusted: Networks) -> Claims:
    """What to believe.

    Args:
        given: headers as they came, names in lower case.
        host: that the client asked for.
        peer: address of the other end of the connection.
        trusted: proxies in front.
    """
    if not _within(peer, trusted):
        headers = {FOR: peer, PROTO: "http", HOST: host}
        return Claims(source=peer, headers=headers, through_trusted=False)
    chain = [part.strip() for part in given.get(FOR, "").split(",") if part.strip()]
    # The last address that no trusted proxy has is the client: what stands before it he may have
    # written himself.
    source = next((one for one in reversed(chain) if not _within(one, trusted)), peer)
    proto = given.get(PROTO, "").strip().lower()
    headers = {
        FOR: ", ".join((*chain, peer)),
        PROTO: proto if proto in PROTOCOLS else "http",
        HOST: given.get(HOST, "") or host,
    }
    source = source if _address(source) is not None else peer
    return Claims(source=source, headers=headers, through_trusted=True)


def _within(text: str, networks: Networks) -> bool:
    address = _address(text)
    return address is not None and any(address in network for network in networks)


# Reading an address costs more than comparing it, and a proxy's own comes with every request.
@lru_cache(maxsize=4_096)
def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    # How a listener of both families writes an address of IPv4.
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return address if mapped is None else mapped
