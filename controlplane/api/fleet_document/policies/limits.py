"""The kinds that bound what an upstream gets: `rate_limit`, `priority_shedding`, `circuit_breaker`
and `adaptive_concurrency`. Values that do not go together are judged in the domain."""

import math

from controlplane.api.fleet_document.policies.specs import listing, short_text, spec
from controlplane.api.fleet_document.reading import choice, integer, name, number
from controlplane.domain.admission.adaptive_concurrency import (
    MOST_LIMIT,
    MOST_SAMPLES,
    AdaptiveConcurrencyPolicy,
)
from controlplane.domain.admission.circuit_breaker import CircuitBreakerPolicy
from controlplane.domain.admission.priority_shedding import PriorityClass, PrioritySheddingPolicy
from controlplane.domain.admission.rate_limit import (
    MOST_AGENTS,
    MOST_RATE_RPS,
    Fallback,
    RateLimitPolicy,
    Scope,
)

POSITIVE = number(0.0, math.inf, above="a number above 0")
RATIO = number(0.0, 1.0, above="a number above 0, up to 1")
RATE = number(0.0, MOST_RATE_RPS, above=f"a number above 0, up to {MOST_RATE_RPS:g}")

rate_limit = spec(
    RateLimitPolicy,
    {
        "rate_rps": RATE,
        "burst": number(1.0, MOST_RATE_RPS),
        "key": listing(short_text),
        "scope": choice(Scope),
        "fallback": choice(Fallback),
        "agents": integer(1, MOST_AGENTS),
    },
)
priority_shedding = spec(
    PrioritySheddingPolicy,
    {
        "classes": listing(
            spec(PriorityClass, {"name": name, "routes": listing(name), "services": listing(name)})
        ),
        "capacity_rps": RATE,
        "target_ms": POSITIVE,
        "window_s": number(0.1, 60.0),
        "epoch_s": number(60.0, 86_400.0),
        "status": integer(429, 503),
    },
)
circuit_breaker = spec(
    CircuitBreakerPolicy,
    {
        "error_ratio": RATIO,
        "slow_ratio": RATIO,
        "slow_ms": POSITIVE,
        "requests": integer(1, 1_000_000),
        "window_s": number(0.1, 600.0),
        "open_s": number(0.1, 3_600.0),
        "most_open_s": number(0.1, 86_400.0),
        "probe_s": number(0.1, 600.0),
        "statuses": listing(integer(500, 599)),
    },
)
adaptive_concurrency = spec(
    AdaptiveConcurrencyPolicy,
    {
        "initial": integer(1, MOST_LIMIT),
        "least": integer(1, MOST_LIMIT),
        "most": integer(1, MOST_LIMIT),
        "window_s": number(0.01, 60.0),
        "samples": integer(1, MOST_SAMPLES),
        "tolerance": number(0.0, 10.0),
        "least_ms": POSITIVE,
        "probe_every_s": number(0.01, 3_600.0),
        "status": integer(429, 503),
    },
)
