"""The agent as a program that is its own proxy, without a control plane."""

from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from benchmarks.free_ports import free_port
from benchmarks.live_agent import leave, live_agent
from controlplane.domain.admission.policy import Attachment, Policy
from controlplane.domain.admission.rate_limit import RateLimitPolicy
from controlplane.domain.services import LoadBalancing
from gateway.application.last_good import LastGood
from tests.gateway import fleet as fleets

ONCE = Policy(
    name="once",
    attachment=Attachment(services=("gates",)),
    rate_limit=RateLimitPolicy(rate_rps=0.01, burst=2, key=("source",)),
)


async def test_it_serves_by_what_is_on_disk_and_asks_the_policies(tmp_path: Path) -> None:
    counts = {"main": 1, "side": 1, "spare": 1, "": 1}
    async with fleets.instances(counts) as instances:
        declared = replace(
            fleets.service(instances.ports), load_balancing=LoadBalancing.ROUND_ROBIN
        )
        LastGood(tmp_path).store(fleets.body(fleets.fleet(declared)), '"1"', 1)
        leave(tmp_path, [ONCE])
        port = free_port()
        with live_agent(tmp_path, "--proxy", f"127.0.0.1:{port}") as agent:
            url = f"http://127.0.0.1:{port}"
            async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
                answers = [await client.get("/gates") for _ in range(3)]
                assert [one.status_code for one in answers] == [200, 200, 429]
                assert answers[0].text in counts
                assert (await client.get("/closed")).status_code == 403
                moved = await client.get("/old?x=1")
                assert (moved.status_code, moved.headers["location"]) == (308, "/gates?x=1")
                assert (await client.get("/nowhere")).json()["code"] == "route_not_found"
            assert agent.metric("signalbox_agent_proxied_total") == 6
            assert agent.stop() == 0


def test_without_a_configuration_it_is_not_ready(tmp_path: Path) -> None:
    leave(tmp_path, [ONCE])
    proxy = f"127.0.0.1:{free_port()}"
    with pytest.raises(TimeoutError), pytest.MonkeyPatch.context() as patch:
        patch.setattr("benchmarks.live_agent.START_S", 3.0)
        with live_agent(tmp_path, "--proxy", proxy):
            pass
