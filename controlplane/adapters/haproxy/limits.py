"""Limits of services on HAProxy: requests per second, and requests at once.

Called by `backends` (`of_request`) and `render` (`table`). Each limited service has a table of one
entry, which all of its sections count in.
"""

import math
from collections.abc import Iterator

from controlplane.adapters.haproxy.quoting import name
from controlplane.domain.snapshot import ServiceEndpoints, ServiceLimit

# A period has whole milliseconds, so it has a hundred of them or more; HAProxy keeps 24 days.
LEAST_PERIOD_S = 0.1
MOST_PERIOD_MS = 1_000_000_000
MS = 1_000


def of_request(service: ServiceEndpoints) -> Iterator[str]:
    """What a section says where it sends requests to a service."""
    limit = service.limit
    if limit is None:
        return
    # The first counter is that of callers' quotas.
    yield f"http-request track-sc1 int(1) table {_table(service)}"
    if limit.concurrent is not None:
        most = limit.concurrent + limit.waiting
        yield f"http-request deny deny_status 503 if {{ sc1_conn_cur gt {most} }}"
    if limit.rate_rps is not None:
        # Only what is let through is counted: else nothing would be while more is asked for.
        full = f"{{ sc1_gpc0_rate ge {_period(limit)[0]} }}"
        yield f"http-request deny deny_status 429 if {full}"
        yield "http-request sc-inc-gpc0(1)"


def table(service: ServiceEndpoints) -> Iterator[str]:
    """The section that counts for a service with a limit."""
    period_ms = _period(service.limit or ServiceLimit())[1]
    yield f"backend {_table(service)}"
    counts = f"conn_cur,gpc0_rate({period_ms}ms)"
    yield f"stick-table type integer size 1 expire {2 * period_ms}ms store {counts}"


def _period(limit: ServiceLimit) -> tuple[int, int]:
    """How many requests in how many milliseconds: a burst, and what it takes to flow in.

    The period slides, so that a burst may come at once and the rest comes evenly.
    """
    rate_rps = limit.rate_rps or 1.0
    burst = rate_rps if limit.burst is None else limit.burst
    requests = max(1, math.ceil(burst), math.ceil(rate_rps * LEAST_PERIOD_S))
    return requests, min(MOST_PERIOD_MS, round(requests / rate_rps * MS))


def _table(service: ServiceEndpoints) -> str:
    return name("l", service.service)
