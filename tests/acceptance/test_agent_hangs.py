"""A real Envoy asks a real agent with a real Redis, and one of the two hangs."""

import asyncio
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.failover_load import OpenLoad, Outcome
from benchmarks.free_ports import free_port
from benchmarks.live_agent import LiveAgent, leave, live_agent
from benchmarks.live_envoy import backend
from controlplane.domain.admission.policy import Policy
from controlplane.domain.admission.rate_limit import Fallback, RateLimitPolicy, Scope
from gateway.wiring.plan import Plan
from tests.gateway.wiring.sites import envoy_site
from tests.servers.redis import redis_server

RATE_RPS = 500.0
WELL_S = 2.0
# The requests of one deadline are late; of these seconds they are half a percent.
HUNG_S = 5.0
MOST_ADDED_MS = 20.0
MOST_GROWN_MB = 8.0
FELL_BACK = "signalbox_agent_fallbacks_total"
# Far above what is sent: everything is admitted, with the Redis and without it.
RULES = RateLimitPolicy(rate_rps=100_000, scope=Scope.GLOBAL, fallback=Fallback.ADMIT)
LIMIT = Policy(name="all", rate_limit=RULES)


async def test_a_hung_agent_or_redis(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """7.5 A hung agent or Redis at 500 requests/s adds at most 20 ms at p99; memory stays flat"""
    service, port = free_port(), free_port()
    leave(tmp_path, [LIMIT])
    (tmp_path / "site").mkdir()
    async with backend("site", [service]):
        with redis_server(tmp_path) as redis, live_agent(tmp_path, "--redis", redis.url) as agent:
            plan = Plan(agent=("127.0.0.1", agent.door), service=("127.0.0.1", service))
            with envoy_site(tmp_path / "site", port, plan):
                load = OpenLoad(port=port, rate_rps=RATE_RPS, services=("web",))
                async with load.running():
                    await _phase(load, 1.0)
                    before_mb = _memory_mb(agent)
                    # Beside each is a phase in which all is well: other work is in both.
                    well = await _phase(load, WELL_S)
                    redis.hang()
                    without_redis = await _phase(load, HUNG_S)
                    fell_back = await asyncio.to_thread(agent.metric, FELL_BACK)
                    redis.go_on()
                    well += await _phase(load, WELL_S)
                    grown_mb = _memory_mb(agent) - before_mb
                    agent.hang()
                    without_agent = await _phase(load, HUNG_S)
                    agent.go_on()
    p99 = {"well": _p99_ms(well)}
    for name, phase in (("hung_redis", without_redis), ("hung_agent", without_agent)):
        p99[name] = _p99_ms(phase)
        record_property(f"{name}_added_p99_ms", round(p99[name] - p99["well"], 2))
        record_property(f"{name}_late_pct", _late_pct(phase))
    record_property("p99_ms", {name: round(value, 2) for name, value in p99.items()})
    record_property("agent_grown_mb", round(grown_mb, 2))
    record_property("fallbacks", fell_back)
    for phase in (well, without_redis, without_agent):
        assert not [one.failed for one in phase if one.failed]
    assert fell_back > 0
    assert p99["hung_redis"] - p99["well"] <= MOST_ADDED_MS
    assert p99["hung_agent"] - p99["well"] <= MOST_ADDED_MS
    assert grown_mb <= MOST_GROWN_MB


async def _phase(load: OpenLoad, seconds: float) -> list[Outcome]:
    """What became of the requests of some seconds."""
    load.outcomes.clear()
    await asyncio.sleep(seconds)
    return list(load.outcomes)


def _p99_ms(outcomes: Sequence[Outcome]) -> float:
    return statistics.quantiles((one.took_s * 1_000 for one in outcomes), n=100)[98]


def _late_pct(outcomes: Sequence[Outcome]) -> float:
    late = sum(one.took_s * 1_000 > MOST_ADDED_MS for one in outcomes)
    return round(100 * late / len(outcomes), 2)


def _memory_mb(agent: LiveAgent) -> float:
    lines = Path(f"/proc/{agent.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1_024
