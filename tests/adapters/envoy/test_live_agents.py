"""An Envoy that gets everything from the control plane asks the agent beside it."""

import asyncio
import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx

from benchmarks.live_agent import leave, live_agent
from controlplane.domain.admission.abnormal_traffic.policy import (
    AbnormalTrafficPolicy,
    RiskLevel,
    ScoreRule,
    Signal,
)
from controlplane.domain.admission.agent_door import AgentDoor, WhenAway
from controlplane.domain.admission.policy import Attachment, Policy
from controlplane.domain.admission.rate_limit import RateLimitPolicy
from controlplane.domain.admission.session_queue.policy import SessionQueuePolicy
from controlplane.domain.routing.route import Condition, FixedResponse, PathMatch, Route
from gateway.admission.session_queue.signing import jwk_set, new_key
from tests.adapters.envoy.site import Live, fleet, running, snapshot

RULES = RateLimitPolicy(rate_rps=0.01, burst=1, key=("header:x-user",))
ROOT = itertools.repeat("/")
ONCE = Policy(name="once", rate_limit=RULES)
PAY = Route(id="pay", path=PathMatch(value="/pay"), response=FixedResponse(status=202))


async def publish(live: Live, agent: AgentDoor | None, policies: tuple[Policy, ...] = ()) -> None:
    live.revision += 1
    declared = fleet(live.services, live.routes, live.listener)
    gateways = tuple(replace(group, agent=agent) for group in declared.gateways)
    made = snapshot(replace(declared, gateways=gateways, policies=policies), live.revision)
    await live.plane.apply(live.plane.render(made))


async def test_what_policies_say_chooses_the_route(tmp_path: Path) -> None:
    busy = ScoreRule(name="busy", score=10, signal=Signal.PATHS, at_least=2.0)
    levels = AbnormalTrafficPolicy(
        client=("header:x-user",),
        rules=(busy,),
        levels=(RiskLevel(at_least=10, service="slow"),),
    )
    leave(tmp_path, [Policy(name="levels", abnormal_traffic=levels)])
    diverted = Route(
        id="diverted",
        conditions=(Condition(name="x-admission-service", value="slow"),),
        response=FixedResponse(status=202),
    )
    async with running(tmp_path) as live:
        live.routes.append(diverted)
        with live_agent(tmp_path) as agent:
            await publish(live, AgentDoor(port=agent.door))
            paths = itertools.cycle(("/one", "/two"))
            await until(live, 202, "bot", paths)
            assert (await live.get("/one", **{"x-user": "ann"})).status_code == 200
            # Nobody gets there by saying so himself.
            forged = {"x-user": "eve", "x-admission-service": "slow"}
            assert (await live.get("/one", **forged)).status_code == 200


async def until(live: Live, status: int, user: str, paths: Iterator[str] = ROOT) -> httpx.Response:
    """Wait until somebody's request is answered like this."""
    async with asyncio.timeout(20):
        while True:
            with contextlib.suppress(httpx.TransportError):
                answer = await live.get(next(paths), **{"x-user": user})
                if answer.status_code == status:
                    return answer
            await asyncio.sleep(0.02)


async def test_it_asks_where_the_group_has_an_agent(tmp_path: Path) -> None:
    leave(tmp_path, [ONCE])
    async with running(tmp_path) as live:
        with live_agent(tmp_path) as agent:
            await publish(live, AgentDoor(port=agent.door))
            refused = await until(live, 429, "ann")
            assert refused.json()["code"] == "rate_limited"
            await publish(live, None)
            await until(live, 200, "ann")
            await publish(live, AgentDoor(port=agent.door))
            await until(live, 429, "ann")
            agent.kill()
            await until(live, 200, "ann")
            await publish(live, AgentDoor(port=agent.door, when_away=WhenAway.REFUSE))
            await until(live, 503, "ann")


async def test_each_route_goes_by_its_policies_while_the_agent_is_away(tmp_path: Path) -> None:
    pays = Policy(
        name="pays",
        attachment=Attachment(routes=("pay",)),
        when_away=WhenAway.REFUSE,
        rate_limit=RULES,
    )
    leave(tmp_path, [pays], [PAY])
    async with running(tmp_path) as live:
        live.routes.append(PAY)
        with live_agent(tmp_path) as agent:
            await publish(live, AgentDoor(port=agent.door), (pays,))
            pay = itertools.repeat("/pay")
            await until(live, 429, "ann", pay)
            # It is asked about by the other filter, and once.
            statuses = [(await live.get("/pay", **{"x-user": "cyd"})).status_code for _ in "12"]
            assert statuses == [202, 429]
            agent.kill()
            await until(live, 503, "bob", pay)
            assert (await live.get("/other", **{"x-user": "bob"})).status_code == 200
            # The other way round: the group refuses, and the policy lets on.
            mild = replace(pays, when_away=WhenAway.ADMIT)
            door = AgentDoor(port=agent.door, when_away=WhenAway.REFUSE)
            await publish(live, door, (mild,))
            await until(live, 202, "bob", pay)
            await until(live, 503, "bob", itertools.repeat("/other"))


async def test_who_holds_a_ticket_is_not_asked_about_where_the_queue_is_all(tmp_path: Path) -> None:
    key = new_key()
    (tmp_path / "ticket.pem").write_bytes(key)
    spec = SessionQueuePolicy(initial_size=1_000, ticket_s=60, keys=jwk_set([key]))
    queue = Policy(name="seats", session_queue=spec)
    leave(tmp_path, [queue])
    async with running(tmp_path) as live:
        with live_agent(tmp_path, "--ticket-key", str(tmp_path / "ticket.pem")) as agent:
            door = AgentDoor(port=agent.door, when_away=WhenAway.REFUSE)
            await publish(live, door, (queue,))
            inside = await until(live, 200, "ann")
            async with asyncio.timeout(20):
                while "set-cookie" not in inside.headers:
                    inside = await live.get()
            cookie = inside.headers["set-cookie"].partition(";")[0]
            before = agent.metric("signalbox_agent_decisions_total")
            answers = [(await live.get(cookie=cookie)).status_code for _ in range(20)]
            assert answers == [200] * 20
            assert agent.metric("signalbox_agent_decisions_total") == before
            agent.kill()
            assert (await live.get(cookie=cookie)).status_code == 200
            await until(live, 503, "bob")
            # One more policy for these requests, and the ticket alone is not enough.
            await publish(live, door, (queue, ONCE))
            async with asyncio.timeout(20):
                while (await live.get(cookie=cookie)).status_code != 503:
                    await asyncio.sleep(0.02)
