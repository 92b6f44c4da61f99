"""Limits of services on nginx: requests per second, of an address too, and requests at once.

Called by `locations` (`of_location`) and `render` (`zones`). Each limited service has zones of its
own name, because nginx keeps a zone over a reload by its name and refuses one whose key changed.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from controlplane.adapters.nginx.quoting import name, word
from controlplane.domain.snapshot import ServiceEndpoints, ServiceLimit

# nginx counts no further.
MOST_AT_ONCE = 65_535
MINUTE_S = 60
# Some 80,000 addresses; those that were quiet longest are forgotten first.
ADDRESSES = "10m"
# A client of IPv6 has a network of 64 bits; one of IPv4 may look like one of IPv6.
_CLIENTS = (
    (r"(?s)^\x00{10}\xff\xff(?<sb_client_v4>.{4})\z", "$sb_client_v4"),
    (r"(?s)^(?<sb_client_v6>.{8}).{8}\z", "$sb_client_v6"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of services: of an address by the services' names, the others by the services.

    Attributes:
        by_source: with a rate each.
    """

    by_source: Mapping[str, ServiceLimit] = field(default_factory=dict)

    def of_location(self, service: ServiceEndpoints) -> Iterator[str]:
        """What a location says where it sends requests to a service."""
        limit, each = service.limit, self.by_source.get(service.service)
        if limit is not None and limit.concurrent is not None:
            most = min(limit.concurrent + limit.waiting, MOST_AT_ONCE)
            yield f"limit_conn {name('c', service.service)} {most};"
        for kind, one in (("a", each), ("r", limit)):
            if one is not None and one.rate_rps is not None:
                # One request goes through beside the burst, and a burst of 0 is an error.
                more = math.ceil(one.rate_rps if one.burst is None else one.burst) - 1
                burst = f" burst={more}" if more > 0 else ""
                yield f"limit_req zone={name(kind, service.service)}{burst} nodelay;"

    def zones(self, services: Iterable[ServiceEndpoints]) -> Iterator[str]:
        """What counts, beside the servers; nothing while no service is limited."""
        found = [line for service in services for line in self._zones(service)]
        if found:
            # Refusals are no errors: they would fill the log as fast as requests come.
            yield "limit_req_status 429;"
            yield "limit_req_log_level info;"
            yield "limit_conn_log_level info;"
        if any("$sb_client" in line for line in found):
            clients = " ".join(f"{word(f'~{text}')} {value};" for text, value in _CLIENTS)
            yield f"map $binary_remote_addr $sb_client {{ {clients} default $binary_remote_addr; }}"
        yield from found

    def _zones(self, service: ServiceEndpoints) -> Iterator[str]:
        limit, each = service.limit, self.by_source.get(service.service)
        if limit is not None and limit.concurrent is not None:
            zone = name("c", service.service)
            yield f'limit_conn_zone "{zone}" zone={zone}:32k;'
        for kind, one, key, size in (
            ("a", each, "$sb_client", ADDRESSES),
            ("r", limit, f'"{name("r", service.service)}"', "32k"),
        ):
            if one is not None and one.rate_rps is not None:
                zone, rate = name(kind, service.service), _spelled(one.rate_rps)
                yield f"limit_req_zone {key} zone={zone}:{size} rate={rate};"


def _spelled(rate_rps: float) -> str:
    """nginx reads whole numbers, of a second or a minute: one a minute is the least."""
    if rate_rps.is_integer():
        return f"{rate_rps:.0f}r/s"
    return f"{max(1, round(rate_rps * MINUTE_S))}r/m"
