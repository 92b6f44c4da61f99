"""An Envoy that gets everything from the control plane asks the agent beside it."""

import asyncio
import contextlib
from dataclasses import replace
from pathlib import Path

import httpx

from benchmarks.live_agent import leave, live_agent
from controlplane.domain.admission.agent_door import AgentDoor, WhenAway
from controlplane.domain.admission.policy import Policy
from controlplane.domain.admission.rate_limit import RateLimitPolicy
from controlplane.domain.admission.session_queue.policy import SessionQueuePolicy
from gateway.admission.session_queue.signing import jwk_set, new_key
from tests.adapters.envoy.site import Live, fleet, running, snapshot

RULES = RateLimitPolicy(rate_rps=0.01, burst=1, key=("header:x-user",))
ONCE = Policy(name="once", rate_limit=RULES)


async def publish(live: Live, agent: AgentDoor | None, policies: tuple[Policy, ...] = ()) -> None:
    live.revision += 1
    declared = fleet(live.services, live.routes, live.listener)
    gateways = tuple(replace(group, agent=agent) for group in declared.gateways)
    made = snapshot(replace(declared, gateways=gateways, policies=policies), live.revision)
    await live.plane.apply(live.plane.render(made))


async def until(live: Live, status: int, user: str) -> httpx.Response:
    """Wait until somebody's request is answered like this."""
    async with asyncio.timeout(20):
        while True:
            with contextlib.suppress(httpx.TransportError):
                answer = await live.get(**{"x-user": user})
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
