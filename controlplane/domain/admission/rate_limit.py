"""Rate limit: so many requests per second of one key, in one gateway or in all together.

The count is a token bucket. A global limit is kept in what the gateways share; while that is away,
each keeps its part in a bucket of its own. When the shared one is back it has filled up meanwhile,
and would let a whole burst through on top of what went before: for the time that a burst takes to
flow in, a request therefore needs a token of both.
"""

import functools
import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.admission.asking import ADMITTED, Asked, Decision, Verdict
from controlplane.domain.errors import Invalid

# A full bucket is kept for a time that a store can count in milliseconds.
LEAST_RATE_RPS = 1e-6
MOST_RATE_RPS = 10_000_000.0
MOST_AGENTS = 10_000
MOST_KEY_PARTS = 4
# A client has a whole network of this size in IPv6, and would have as many limits as addresses.
CLIENT_NETWORK_BITS = 64
# Addresses whose network is remembered.
MOST_NETWORKS = 4_096
# The usual burst, in seconds of the rate.
BURST_S = 0.1


class Scope(StrEnum):
    """Who counts together: each gateway by itself, or all that share their state."""

    LOCAL = "local"
    GLOBAL = "global"


class Fallback(StrEnum):
    """What holds of a global limit while the shared state is away."""

    SHARE = "share"
    ADMIT = "admit"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimitPolicy:
    """A limit.

    Attributes:
        rate_rps: requests per second of one key, 0.000001 (one in eleven days) to 10,000,000.
        burst: requests that may come at once, 1..10,000,000; None is a tenth of a second's worth,
            at least 1.
        key: what is counted apart, up to 4 of `source`, `user`, `method`, `path`, `route`,
            `header:NAME`, `cookie:NAME`, `query:NAME`; none is one limit for all.
        scope: who counts together.
        fallback: of a global limit; `agents`: how many gateways take their share then, 1..10,000.
    """

    rate_rps: float = 100.0
    burst: float | None = None
    key: tuple[str, ...] = ()
    scope: Scope = Scope.LOCAL
    fallback: Fallback = Fallback.SHARE
    agents: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RateFacts:
    """What the bucket said: whether it gave a token, and when it will."""

    taken: bool = True
    retry_after_s: float = 0.0


def check_rate_limit(policy: RateLimitPolicy) -> None:
    """Raise Invalid `policy_invalid` for what cannot be carried out."""
    if not LEAST_RATE_RPS <= policy.rate_rps <= MOST_RATE_RPS:
        bounds = f"{LEAST_RATE_RPS:g}..{MOST_RATE_RPS:g}"
        raise _invalid(f"rate_rps is {policy.rate_rps}: give {bounds}")
    if policy.burst is not None and not 1 <= policy.burst <= MOST_RATE_RPS:
        raise _invalid(f"burst is {policy.burst}: give 1..{MOST_RATE_RPS:g}")
    if not 1 <= policy.agents <= MOST_AGENTS:
        raise _invalid(f"agents is {policy.agents}: give 1..{MOST_AGENTS}")
    if len(policy.key) > MOST_KEY_PARTS:
        raise _invalid(f"key has {len(policy.key)} parts: keep it within {MOST_KEY_PARTS}")
    for part in policy.key:
        kind, _, name = part.partition(":")
        if not (part in PARTS or (kind in NAMED and name)):
            known = ", ".join([*PARTS, *(f"{one}:NAME" for one in NAMED)])
            raise _invalid(f"key has {part!r}: give one of {known}")


def _invalid(words: str) -> Invalid:
    return Invalid("policy_invalid", f"rate_limit: {words}")


def burst(policy: RateLimitPolicy) -> float:
    """Tokens that the bucket holds."""
    return policy.burst or max(1.0, policy.rate_rps * BURST_S)


def share(policy: RateLimitPolicy, agents: int | None = None) -> tuple[float, float]:
    """Rate and burst of one gateway while the shared state is away.

    Args:
        agents: gateways that were seen last; the declared number when it is larger, or None.
    """
    parts = max(policy.agents, agents or 1)
    return policy.rate_rps / parts, max(1.0, burst(policy) / parts)


def recovery_s(policy: RateLimitPolicy) -> float:
    """For so long after the shared state is back a request needs a token of both."""
    return burst(policy) / policy.rate_rps


def counted(policy: RateLimitPolicy, asked: Asked) -> tuple[str, ...]:
    """What a request is counted under; what is unknown of a user is the address he has."""
    return tuple(_part(part, asked) for part in policy.key)


def decide(policy: RateLimitPolicy, asked: Asked, facts: RateFacts) -> Decision:
    """What the answer of its bucket means for a request; RFC 6585 names the status."""
    if facts.taken:
        return ADMITTED
    return Decision(
        verdict=Verdict.REFUSE,
        reason="rate_limited",
        status=429,
        retry_after_s=facts.retry_after_s,
        details={"rate_rps": policy.rate_rps, "burst": burst(policy), "key": list(policy.key)},
    )


def client(source: str) -> str:
    """The network that stands for a client: his address, in IPv6 his 64 bits."""
    return _network(source) if ":" in source else source


# Each policy that counts by address asks for that of the same request.
@functools.lru_cache(maxsize=MOST_NETWORKS)
def _network(source: str) -> str:
    try:
        address = ipaddress.IPv6Address(source)
    except ValueError:
        return source
    mapped = address.ipv4_mapped
    if mapped is not None:
        return str(mapped)
    return str(ipaddress.ip_network((address, CLIENT_NETWORK_BITS), strict=False))


PARTS: Mapping[str, Callable[[Asked], str]] = {
    "source": lambda asked: client(asked.request.source),
    "user": lambda asked: asked.user or client(asked.request.source),
    "method": lambda asked: asked.request.method,
    "path": lambda asked: asked.request.path,
    "route": lambda asked: asked.route,
}
NAMED: Mapping[str, Callable[[Asked, str], str]] = {
    "header": lambda asked, name: asked.request.headers.get(name.lower(), ""),
    "cookie": lambda asked, name: asked.request.cookies.get(name, ""),
    "query": lambda asked, name: asked.request.query_params.get(name, ""),
}


def _part(part: str, asked: Asked) -> str:
    plain = PARTS.get(part)
    if plain is not None:
        return plain(asked)
    kind, _, name = part.partition(":")
    return NAMED[kind](asked, name)
