"""Rules about addresses: of hosts, of the machine itself, and paths on them.

Called by `sections` and `services`, like the rules of `reading`. What proxies would read in
several ways is refused here, with the form to write instead.
"""

import ipaddress
import re

from controlplane.api.fleet_document.reading import Place, matching, text_of

Ip = ipaddress.IPv4Address | ipaddress.IPv6Address

PATH = re.compile(r"/[!-~]{0,1023}", re.ASCII)
BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})", re.ASCII)
# What proxies fold before they match, each in its own way.
UNSTABLE = re.compile(r"//|/(\.|%2[Ee]){1,2}(/|$)", re.ASCII)
CONTROL = re.compile(r"%([01][0-9A-Fa-f]|7[Ff])", re.ASCII)


def address(place: Place) -> str:
    """An IP address that one host can have, in its usual form."""
    value = _ip(place)
    if value is None:
        return ""
    if value.is_unspecified:
        place.report("the address of one host; this one means every address of a machine")
    elif _of_many(value):
        place.report("the address of one host, not of a group, a broadcast or a reserved range")
    return str(value)


def listen_address(place: Place) -> str:
    """An IP address of the machine itself; 0.0.0.0 and :: are all of them."""
    value = _ip(place)
    if value is not None and _of_many(value):
        place.report("an address of the machine, or 0.0.0.0 or :: for all of them")
    return "" if value is None else str(value)


def _of_many(value: Ip) -> bool:
    """Whether it is no host's: a group, a broadcast, or 240.0.0.0/4."""
    # What IPv6 calls reserved has hosts in it, those behind NAT64 for one.
    return value.is_multicast or (value.version == 4 and value.is_reserved)


def _ip(place: Place) -> Ip | None:
    text = text_of(place) or ""
    try:
        value = ipaddress.ip_address(text)
    except ValueError:
        place.report("an IPv4 or IPv6 address")
        return None
    if isinstance(value, ipaddress.IPv6Address):
        if value.scope_id is not None:
            place.report("an address without a zone; a zone has a meaning on one machine only")
            return None
        if value.ipv4_mapped is not None:
            place.report(f"the IPv4 address itself, {value.ipv4_mapped}")
            return None
    return value


def path(place: Place) -> str:
    """A path of an address that proxies leave as it is; a query may follow."""
    value = matching(PATH, "a path that begins with /, in printable ASCII")(place)
    way = value.partition("?")[0]
    if value and (BAD_ESCAPE.search(way) or "\\" in way):
        place.report("a path without \\ and with % only before two hexadecimal digits")
    elif UNSTABLE.search(way):
        place.report("a path without //, and without . or .. (also as %2e) between slashes")
    elif CONTROL.search(way):
        place.report("a path without control characters, also as %00..%1f or %7f")
    return value
