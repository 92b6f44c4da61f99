"""All primitives of one agent together: in its own memory, or in a Redis that several share.

Made once at the agent's start, handed to every enforcer.
"""

from collections.abc import Callable
from dataclasses import dataclass

from gateway.state.memory.answers import MemoryAnswers
from gateway.state.memory.buckets import MemoryBuckets
from gateway.state.memory.counters import MemoryCounters
from gateway.state.memory.leases import MemoryLeases
from gateway.state.memory.pools import MemoryPools
from gateway.state.memory.values import MemoryValues
from gateway.state.memory.windows import MemoryWindows
from gateway.state.ports import (
    Answers,
    Buckets,
    Counters,
    Leases,
    Pools,
    Values,
    Windows,
)
from gateway.state.redis.answers import RedisAnswers
from gateway.state.redis.buckets import RedisBuckets
from gateway.state.redis.counters import RedisCounters
from gateway.state.redis.leases import RedisLeases
from gateway.state.redis.link import RedisLink
from gateway.state.redis.pools import RedisPools
from gateway.state.redis.values import RedisValues
from gateway.state.redis.windows import RedisWindows


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedState:
    """One of each primitive."""

    windows: Windows
    buckets: Buckets
    counters: Counters
    values: Values
    pools: Pools
    leases: Leases
    answers: Answers


def in_memory(now_s: Callable[[], float]) -> SharedState:
    """State of one agent alone.

    Args:
        now_s: seconds of any clock that never goes back.
    """
    leases = MemoryLeases(now_s)
    return SharedState(
        windows=MemoryWindows(now_s),
        buckets=MemoryBuckets(now_s),
        counters=MemoryCounters(now_s),
        values=MemoryValues(now_s),
        pools=MemoryPools(now_s),
        leases=leases,
        answers=MemoryAnswers(now_s, leases.ring),
    )


def in_redis(link: RedisLink) -> SharedState:
    """State of all agents that use one Redis; time is the time of that Redis."""
    return SharedState(
        windows=RedisWindows(link),
        buckets=RedisBuckets(link),
        counters=RedisCounters(link),
        values=RedisValues(link),
        pools=RedisPools(link),
        leases=RedisLeases(link),
        answers=RedisAnswers(link),
    )
