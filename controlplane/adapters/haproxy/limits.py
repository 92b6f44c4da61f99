"""Limits of services on HAProxy: requests per second, of an address too, and requests at once.

Called by `backends` (`of_request`) and `render` (`tables`). Each limited service has a table of one
entry, which all of its sections count in, and one of addresses.
"""

import math
from collections.abc import Iterator

from controlplane.adapters.haproxy.quoting import name
from controlplane.domain.snapshot import ServiceEndpoints, ServiceLimit

# A period has whole milliseconds, so it has a hundred of them or more; HAProxy keeps 24 days.
LEAST_PERIOD_S = 0.1
MOST_PERIOD_MS = 1_000_000_000
MS = 1_000
# Those that were quiet longest are forgotten first.
ADDRESSES = 100_000


def of_request(service: ServiceEndpoints, by_source: ServiceLimit | None = None) -> Iterator[str]:
    """What a section says where it sends requests to a service; callers' quotas have counter 0.

    Args:
        by_source: of each address, with a rate; None is no limit.
    """
    # Only what is let through is counted: else nothing would be while more is asked for.
    counted, limit = [], service.limit
    if by_source is not None:
        table = _addresses(service)
        # A client of IPv6 has a network of 64 bits; one of IPv4 may look like one of IPv6.
        yield f"http-request track-sc2 src table {table} if {{ src ::ffff:0:0/96 }}"
        yield f"http-request track-sc2 src,ipmask(32,64) table {table}"
        full = f"{{ sc2_gpc0_rate ge {_period(by_source)[0]} }}"
        yield f"http-request deny deny_status 429 if {full}"
        counted.append("http-request sc-inc-gpc0(2)")
    if limit is not None:
        yield f"http-request track-sc1 int(1) table {_whole(service)}"
    if limit is not None and limit.concurrent is not None:
        most = limit.concurrent + limit.waiting
        yield f"http-request deny deny_status 503 if {{ sc1_conn_cur gt {most} }}"
    if limit is not None and limit.rate_rps is not None:
        full = f"{{ sc1_gpc0_rate ge {_period(limit)[0]} }}"
        yield f"http-request deny deny_status 429 if {full}"
        counted.append("http-request sc-inc-gpc0(1)")
    yield from counted


def tables(
    service: ServiceEndpoints, by_source: ServiceLimit | None = None
) -> Iterator[tuple[str, ...]]:
    """The sections that count for a service."""
    if service.limit is not None:
        period_ms = _period(service.limit)[1]
        kept = f"size 1 expire {2 * period_ms}ms store conn_cur,gpc0_rate({period_ms}ms)"
        yield f"backend {_whole(service)}", f"stick-table type integer {kept}"
    if by_source is not None:
        period_ms = _period(by_source)[1]
        kept = f"size {ADDRESSES} expire {2 * period_ms}ms store gpc0_rate({period_ms}ms)"
        yield f"backend {_addresses(service)}", f"stick-table type ipv6 {kept}"


def _period(limit: ServiceLimit) -> tuple[int, int]:
    """How many requests in how many milliseconds: a burst, and what it takes to flow in.

    The period slides, so that a burst may come at once and the rest comes evenly.
    """
    rate_rps = limit.rate_rps or 1.0
    burst = rate_rps if limit.burst is None else limit.burst
    requests = max(1, math.ceil(burst), math.ceil(rate_rps * LEAST_PERIOD_S))
    return requests, min(MOST_PERIOD_MS, round(requests / rate_rps * MS))


def _whole(service: ServiceEndpoints) -> str:
    return name("l", service.service)


def _addresses(service: ServiceEndpoints) -> str:
    return name("a", service.service)
