"""Limits of services on nginx: requests per second, and requests at once.

Called by `locations` (`of_location`) and `render` (`zones`). Each limited service has zones of its
own name, because nginx keeps a zone over a reload by its name and refuses one whose key changed.
"""

import math
from collections.abc import Iterable, Iterator

from controlplane.adapters.nginx.quoting import name
from controlplane.domain.snapshot import ServiceEndpoints

# nginx counts no further.
MOST_AT_ONCE = 65_535
MINUTE_S = 60


def of_location(service: ServiceEndpoints) -> Iterator[str]:
    """What a location says where it sends requests to a service."""
    limit = service.limit
    if limit is None:
        return
    if limit.concurrent is not None:
        most = min(limit.concurrent + limit.waiting, MOST_AT_ONCE)
        yield f"limit_conn {_at_once(service)} {most};"
    if limit.rate_rps is not None:
        # One request goes through beside the burst, and a burst of 0 is an error.
        more = math.ceil(limit.rate_rps if limit.burst is None else limit.burst) - 1
        burst = f" burst={more}" if more > 0 else ""
        yield f"limit_req zone={_rate(service)}{burst} nodelay;"


def zones(services: Iterable[ServiceEndpoints]) -> Iterator[str]:
    """What counts, beside the servers; nothing while no service is limited."""
    limited = [service for service in services if service.limit is not None]
    if limited:
        # Refusals are no errors: they would fill the log as fast as requests come.
        yield "limit_req_status 429;"
        yield "limit_req_log_level info;"
        yield "limit_conn_log_level info;"
    for service in limited:
        if service.limit is not None and service.limit.concurrent is not None:
            zone = _at_once(service)
            yield f'limit_conn_zone "{zone}" zone={zone}:32k;'
        if service.limit is not None and service.limit.rate_rps is not None:
            zone, rate = _rate(service), _spelled(service.limit.rate_rps)
            yield f'limit_req_zone "{zone}" zone={zone}:32k rate={rate};'


def _spelled(rate_rps: float) -> str:
    """nginx reads whole numbers, of a second or a minute: one a minute is the least."""
    if rate_rps.is_integer():
        return f"{rate_rps:.0f}r/s"
    return f"{max(1, round(rate_rps * MINUTE_S))}r/m"


def _at_once(service: ServiceEndpoints) -> str:
    return name("c", service.service)


def _rate(service: ServiceEndpoints) -> str:
    return name("r", service.service)
