"""The kind `overload` at work: two agents with one state, in memory and in Redis."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from controlplane.domain.admission.asking import Asked, Verdict
from controlplane.domain.admission.overload.policy import Alone, OverloadPolicy, Read
from controlplane.domain.admission.policy import Mode, Policy
from controlplane.domain.errors import Retryable
from controlplane.domain.routing.matching.request import Request
from gateway.admission.enforcing import Answer, Ruling
from gateway.admission.overload import turns
from gateway.admission.overload.protecting import Overload
from gateway.admission.surroundings import Surroundings
from gateway.state.redis.link import RedisLink, RedisOptions
from gateway.state.shared import SharedState, in_memory, in_redis
from tests.servers.redis import redis_server

SPEC = OverloadPolicy(
    reads=(Read(path="/shows/{show}/seats", query=("date",)),),
    threshold=0,
    lifetime_s=0.3,
    token_s=1.0,
    wait_s=0.6,
    stale_s=5.0,
)


def asked(target: str = "/shows/1/seats", method: str = "GET", **headers: str) -> Asked:
    request = Request.of(target, method=method, host="x", headers=tuple(headers.items()))
    assert isinstance(request, Request)
    return Asked(request=request, now_s=time.time(), route="seats", service="chain")


@dataclass(slots=True)
class Upstream:
    """How often it is asked, how many at once, and what it says."""

    took_s: float = 0.05
    fails: bool = False
    headers: tuple[tuple[str, str], ...] = ()
    asked: list[Request] = field(default_factory=list)
    now: int = 0
    most: int = 0
    cancelled: int = 0

    async def fetch(self, one: Asked) -> Answer:
        self.asked.append(one.request)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(self.took_s)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.now -= 1
        if self.fails:
            raise Retryable("upstream_failed", "down")
        return Answer(status=200, headers=self.headers, body=b"%d" % len(self.asked))


@dataclass(slots=True)
class Agents:
    state: SharedState
    upstream: Upstream = field(default_factory=Upstream)
    made: list[Overload] = field(default_factory=list)

    def agent(self, mode: Mode = Mode.ENFORCE, **changes: object) -> Overload:
        spec = replace(SPEC, **changes)  # type: ignore[arg-type]
        surroundings = Surroundings(
            state=self.state,
            now_s=time.time,
            agent=f"a{len(self.made)}",
            group="edge",
            fetch=self.upstream.fetch,
        )
        made = Overload(Policy(name="seats", mode=mode, overload=spec), surroundings)
        self.made.append(made)
        return made


@pytest.fixture(params=["memory", "redis"])
async def agents(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Agents]:
    if request.param == "memory":
        found = Agents(in_memory(time.monotonic))
        yield found
        for each in found.made:
            await each.close()
        return
    with redis_server(tmp_path) as server:
        link = RedisLink(RedisOptions(url=server.url, deadline_s=2.0))
        found = Agents(in_redis(link))
        yield found
        for each in found.made:
            await each.close()
        await link.close()


def how(ruling: Ruling) -> tuple[Verdict, str, bytes]:
    body = b"" if ruling.answer is None else ruling.answer.body
    return ruling.decision.verdict, ruling.decision.reason, body


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(5):
        while not holds():
            await asyncio.sleep(0.005)


async def test_one_of_all_fetches_and_everybody_gets_its_answer(agents: Agents) -> None:
    first, second = agents.agent(), agents.agent()
    rulings = await asyncio.gather(
        *(each.rule(asked()) for each in (first, second) for _ in range(40))
    )
    assert {ruling.answer.body for ruling in rulings if ruling.answer} == {b"1"}
    assert len(agents.upstream.asked) == agents.upstream.most == 1
    assert [how(one)[1] for one in rulings].count("fetched") == 1
    assert how(await second.rule(asked())) == (Verdict.ANSWER, "cached", b"1")
    await asyncio.sleep(SPEC.lifetime_s)
    assert how(await second.rule(asked()))[1:] == ("fetched", b"2")
    assert how(await first.rule(asked()))[1:] == ("cached", b"2")


async def test_different_reads_are_fetched_at_once_and_nothing_else_is_touched(
    agents: Agents,
) -> None:
    agent = agents.agent()
    targets = [f"/shows/{show}/seats?date={show % 2}&x={show}" for show in range(6)]
    await asyncio.gather(*(agent.rule(asked(one)) for one in targets for _ in range(5)))
    assert len(agents.upstream.asked) == 6
    assert {one.query for one in agents.upstream.asked} == {"date=0", "date=1"}
    assert {tuple(one.headers) for one in agents.upstream.asked} == {()}
    write = await agent.rule(asked(method="POST"))
    assert write.decision.verdict is Verdict.ADMIT


async def test_below_the_threshold_everything_passes_and_refreshes(agents: Agents) -> None:
    first, second = agents.agent(threshold=3), agents.agent(threshold=3)
    await until_copied(first)
    passed = await first.rule(asked())
    assert passed.copied is not None
    passed.copied.take(Answer(status=200, body=b"from before"))
    assert (await first.rule(asked(cookie="a=1"))).copied is None
    await asyncio.sleep(0.15)
    for _ in range(3):
        ruling = await second.rule(asked())
        await asyncio.sleep(0.12)
    assert how(ruling) == (Verdict.ANSWER, "cached", b"from before")
    assert agents.upstream.asked == []


async def until_copied(agent: Overload) -> None:
    """Until it knows the clock that tokens are numbered by."""
    await agent.rule(asked("/shows/other/seats"))
    await until(lambda: agent._copies._ahead_us is not None)


async def test_a_failing_upstream_gives_old_answers_then_a_clear_error(agents: Agents) -> None:
    agent = agents.agent(stale_s=1.5)
    await agent.rule(asked())
    agents.upstream.fails = True
    await asyncio.sleep(SPEC.lifetime_s)
    stale = await agent.rule(asked())
    assert how(stale) == (Verdict.ANSWER, "stale", b"1")
    assert stale.answer is not None
    assert ("x-admission-cache", "stale") in stale.answer.headers
    await asyncio.sleep(1.5)
    refused = await agent.rule(asked())
    assert how(refused) == (Verdict.REFUSE, "upstream_failed", b"")
    assert refused.decision.status == 503
    agents.upstream.fails = False
    assert how(await agent.rule(asked()))[1] == "fetched"


async def test_a_fetch_ends_before_its_token_and_another_one_tries(agents: Agents) -> None:
    first, second = agents.agent(token_s=0.3, wait_s=2.0), agents.agent(token_s=0.3, wait_s=2.0)
    agents.upstream.took_s = 60.0
    slow = asyncio.create_task(first.rule(asked()))
    await until(lambda: agents.upstream.now == 1)
    waiting = asyncio.create_task(second.rule(asked()))
    await asyncio.sleep(0.1)
    agents.upstream.took_s = 0.05
    assert how(await slow)[:2] == (Verdict.REFUSE, "upstream_failed")
    assert how(await waiting)[1:] == ("fetched", b"2")
    assert (agents.upstream.cancelled, agents.upstream.most) == (1, 1)


async def test_a_client_that_goes_away_leaves_its_fetch_to_the_others(agents: Agents) -> None:
    agent = agents.agent()
    gone = asyncio.create_task(agent.rule(asked()))
    await until(lambda: agents.upstream.now == 1)
    waiting = asyncio.create_task(agent.rule(asked()))
    leaving = asyncio.create_task(agent.rule(asked()))
    await asyncio.sleep(0.02)
    gone.cancel()
    leaving.cancel()
    assert how(await waiting)[1:] == ("cached", b"1")
    assert agents.upstream.cancelled == 0


async def test_who_waits_too_long_or_is_one_too_many_hears_it(agents: Agents) -> None:
    agent = agents.agent(wait_s=0.1, most_waiting=1)
    agents.upstream.took_s = 0.4
    fetching = asyncio.create_task(agent.rule(asked()))
    await until(lambda: agents.upstream.now == 1)
    late = asyncio.create_task(agent.rule(asked()))
    await asyncio.sleep(0.03)
    assert how(await agent.rule(asked()))[:2] == (Verdict.REFUSE, "too_many_waiting")
    assert how(await late)[:2] == (Verdict.REFUSE, "waited_too_long")
    assert how(await fetching)[1] == "fetched"


async def test_what_is_for_one_reader_goes_to_one_reader(agents: Agents) -> None:
    agents.upstream.headers = (("Cache-Control", "private"), ("Set-Cookie", "a=1"))
    agent = agents.agent()
    rulings = await asyncio.gather(*(agent.rule(asked()) for _ in range(3)))
    assert sorted(how(one)[2] for one in rulings) == [b"1", b"2", b"3"]
    assert agents.upstream.most == 1
    assert all("Set-Cookie" not in dict(one.answer.headers) for one in rulings if one.answer)


async def test_a_policy_that_observes_waits_for_nothing(agents: Agents) -> None:
    ruling = await agents.agent(mode=Mode.OBSERVE).rule(asked())
    assert how(ruling) == (Verdict.WAIT, "token_wanted", b"")
    assert agents.upstream.asked == []


async def test_without_a_proxy_it_counts_and_admits(agents: Agents) -> None:
    surroundings = Surroundings(state=agents.state, now_s=time.time, agent="a", group="edge")
    agent = Overload(Policy(name="seats", overload=SPEC), surroundings)
    assert (await agent.rule(asked())).decision.verdict is Verdict.ADMIT
    assert agent.fall_back(asked()).decision.verdict is Verdict.ADMIT
    await agent.close()


async def test_a_redis_that_is_away_leaves_each_agent_its_own_tokens(tmp_path: Path) -> None:
    with redis_server(tmp_path) as server:
        link = RedisLink(RedisOptions(url=server.url, deadline_s=0.05))
        found = Agents(in_redis(link))
        first, second = found.agent(), found.agent()
        admits = found.agent(alone=Alone.ADMIT)
        refuses = found.agent(alone=Alone.REFUSE)
        await first.rule(asked())
        server.kill()
        await asyncio.sleep(SPEC.lifetime_s)
        began_s = time.monotonic()
        rulings = await asyncio.gather(
            *(each.rule(asked()) for each in (first, second) for _ in range(20))
        )
        assert time.monotonic() - began_s < 1.0
        assert all(one.answer is not None for one in rulings)
        assert (len(found.upstream.asked), found.upstream.most) == (3, 2)
        assert (await admits.rule(asked())).decision.verdict is Verdict.ADMIT
        assert how(await refuses.rule(asked()))[:2] == (Verdict.REFUSE, "shared_state_away")
        assert len(found.upstream.asked) == 3
        for each in found.made:
            await each.close()
        await link.close()


@pytest.mark.parametrize(("took_s", "reason"), [(0.1, "fetched"), (0.5, "upstream_failed")])
async def test_who_waits_is_answered_when_the_policy_changes(
    agents: Agents, monkeypatch: pytest.MonkeyPatch, took_s: float, reason: str
) -> None:
    monkeypatch.setattr(turns, "ENDS_S", 0.3)
    agents.upstream.took_s = took_s
    agent = agents.agent()
    fetches = asyncio.create_task(agent.rule(asked()))
    await until(lambda: agents.upstream.now)
    await agent.close()
    assert (await fetches).decision.reason == reason
