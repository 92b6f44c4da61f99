"""A real HAProxy sends requests through the agent's own proxy while the agent is well."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.free_ports import free_port
from benchmarks.live_agent import LiveAgent, leave, live_agent
from benchmarks.session_queue_parts import leave_site
from controlplane.domain.admission.agent_door import WhenAway
from controlplane.domain.admission.policy import Policy
from controlplane.domain.admission.rate_limit import RateLimitPolicy
from controlplane.domain.admission.session_queue.policy import SessionQueuePolicy
from gateway.wiring.plan import Plan
from tests.gateway.wiring.sites import haproxy_site
from tests.servers.echo import echo
from tests.servers.proxies import Client

RULES = RateLimitPolicy(rate_rps=0.01, burst=1, key=("header:x-user",))


@contextlib.contextmanager
def site(folder: Path, when_away: WhenAway) -> Iterator[tuple[LiveAgent, int]]:
    service, port, proxy = (free_port() for _ in range(3))
    # The site's configuration as an earlier run left it, and one policy in place of its own.
    leave_site(folder, service, SessionQueuePolicy())
    leave(folder, [Policy(name="once", rate_limit=RULES)])
    options = ("--trust", "127.0.0.1/32", "--proxy", f"127.0.0.1:{proxy}")
    with echo(service), live_agent(folder, *options) as agent:
        plan = Plan(
            agent=("127.0.0.1", proxy),
            checked=("127.0.0.1", agent.door),
            service=("127.0.0.1", service),
            when_away=when_away,
        )
        with haproxy_site(folder, port, plan):
            yield agent, port


def until(port: int, status: int, user: str) -> None:
    end_s = time.monotonic() + 15
    while (found := ask(port, user)) != status:
        assert time.monotonic() < end_s, f"{found} in place of {status}"
        time.sleep(0.05)


def ask(port: int, user: str) -> int:
    with contextlib.closing(Client(port)) as client:
        return client.ask("/", headers=[("X-User", user)]).status


@pytest.mark.parametrize(("when_away", "without"), [(WhenAway.ADMIT, 200), (WhenAway.REFUSE, 503)])
def test_an_agent_that_hangs_is_left_out(when_away: WhenAway, without: int, tmp_path: Path) -> None:
    with site(tmp_path, when_away) as (agent, port):
        until(port, 429, "ann")
        assert ask(port, "bob") == 200
        agent.hang()
        until(port, without, "ann")
        began_s = time.monotonic()
        assert {ask(port, "ann") for _ in range(20)} == {without}
        assert time.monotonic() - began_s < 5
        with contextlib.closing(Client(port)) as client:
            assert client.ask("/other").status == 503
        agent.go_on()
        until(port, 429, "ann")
