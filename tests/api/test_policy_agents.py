"""A policy that nobody enforces is a finding until an agent asks for the policies."""

import httpx

from controlplane.domain.access import AccessRole
from controlplane.engine.consumers.policy_reports import PRESENT_S
from controlplane.engine.consumers.policy_watch import SETTLING_S, PolicyWatch
from tests.api.house import House

QUEUE = {"services": ["tickets"], "session_queue": {}}


def codes(house: House) -> list[str]:
    return [
        one.observation.code
        for one in house.instruments.findings.standing()
        if one.observation.code == "policy_without_agent"
    ]


async def test_it_stands_until_an_agent_takes_the_policies_and_again_when_it_has_gone(
    house: House,
) -> None:
    services = house.app.state.services
    watch = PolicyWatch(
        lambda: house.publication.current, services.policy_reports, house.instruments
    )
    watch.look()
    await house.declare()
    operator = house.client(AccessRole.OPERATOR)
    answer = await operator.put("/v1/policies/room?reason=try", json=QUEUE)
    assert answer.status_code == 200, answer.text
    await house.tick()
    watch.look()
    # Agents have time to come back after a start.
    assert codes(house) == []
    house.clock.time_s += SETTLING_S
    watch.look()
    assert codes(house) == ["policy_without_agent"]
    listed = (await operator.get("/v1/findings?subject=policy/room")).json()["items"]
    assert [one["code"] for one in listed] == ["policy_without_agent"]
    agent = house.client(AccessRole.GATEWAY)
    await _polls(agent, {})
    watch.look()
    assert codes(house) == ["policy_without_agent"]
    await _polls(agent, {"X-Signalbox-Gateway": "edge-1;edge"})
    watch.look()
    assert codes(house) == []
    house.clock.time_s += PRESENT_S + 1
    watch.look()
    assert codes(house) == ["policy_without_agent"]


async def test_the_waiting_room_of_a_preset_is_one_too(house: House) -> None:
    services = house.app.state.services
    watch = PolicyWatch(
        lambda: house.publication.current, services.policy_reports, house.instruments
    )
    await house.declare()
    operator = house.client(AccessRole.OPERATOR)
    made = await operator.post(
        "/v1/intents",
        json={
            "kind": "preset",
            "target": {"service": "tickets"},
            "preset": {"name": "waiting_room"},
            "reason": "too many",
        },
    )
    assert made.is_success, made.text
    await house.tick()
    house.clock.time_s += SETTLING_S
    watch.look()
    (found,) = [
        one.observation
        for one in house.instruments.findings.standing()
        if one.observation.code == "policy_without_agent"
    ]
    assert found.subject.endswith("-waiting-room")


async def _polls(agent: httpx.AsyncClient, headers: dict[str, str]) -> None:
    assert (await agent.get("/v1/policies", headers=headers)).status_code == 200
