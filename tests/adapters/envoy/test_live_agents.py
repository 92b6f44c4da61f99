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
from tests.adapters.envoy.site import Live, fleet, running, snapshot

RULES = RateLimitPolicy(rate_rps=0.01, burst=1, key=("header:x-user",))
ONCE = Policy(name="once", rate_limit=RULES)


async def publish(live: Live, agent: AgentDoor | None) -> None:
    live.revision += 1
    declared = fleet(live.services, live.routes, live.listener)
    gateways = tuple(replace(group, agent=agent) for group in declared.gateways)
    made = snapshot(replace(declared, gateways=gateways), live.revision)
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
