"""Real proxies, wired by what `wiring` prints, ask a real agent about each request."""

import contextlib
import itertools
import json
import statistics
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from benchmarks.free_ports import free_port
from benchmarks.live_agent import LiveAgent, leave, live_agent
from controlplane.domain.admission.abnormal_traffic.policy import AbnormalTrafficPolicy
from controlplane.domain.admission.agent_door import WhenAway
from controlplane.domain.admission.policy import Policy
from controlplane.domain.admission.rate_limit import RateLimitPolicy
from controlplane.domain.admission.session_queue.policy import SessionQueuePolicy
from gateway.wiring.plan import Plan
from tests.gateway.wiring.sites import SITES
from tests.servers.echo import echo
from tests.servers.proxies import Answer, Client

# One request of each user, so that a second one is refused; whoever names none is never limited.
LIMIT = Policy(
    name="once",
    rate_limit=RateLimitPolicy(rate_rps=0.01, burst=1, key=("header:x-user", "method", "path")),
)
LEVELS = Policy(name="levels", abnormal_traffic=AbnormalTrafficPolicy())
QUEUE = Policy(name="inside", session_queue=SessionQueuePolicy(initial_size=10_000))
# A hung agent would take as long as the client waits.
BOUND_S = 0.1
ROUNDS, PAUSE_S = 10, 0.3
USERS = itertools.count()


# Whose routes may differ in what holds while the agent is away.
ROUTE_BY_ROUTE = frozenset({"envoy", "nginx"})


class Live(NamedTuple):
    plane: str
    agent: LiveAgent
    port: int


@contextlib.contextmanager
def site(
    folder: Path, plane: str, when_away: WhenAway = WhenAway.ADMIT, *further: Policy
) -> Iterator[Live]:
    service, port, spare = (free_port() for _ in range(3))
    leave(folder, [LIMIT, LEVELS, *further])
    with echo(service), live_agent(folder, "--trust", "127.0.0.1/32") as agent:
        plan = Plan(
            agent=("127.0.0.1", agent.door),
            spare=("127.0.0.1", spare),
            service=("127.0.0.1", service),
            when_away=when_away,
            headers=("X-Risk-Level",),
            cookies=("signalbox_ticket_inside",),
        )
        with SITES[plane](folder, port, plan):
            yield Live(plane, agent, port)


@pytest.fixture(scope="module", params=sorted(SITES))
def live(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp(request.param)
    with site(folder, request.param, WhenAway.ADMIT, QUEUE) as found:
        yield found


def ask(port: int, target: str, headers: Iterable[tuple[str, str]]) -> Answer:
    with closing(Client(port)) as client:
        return client.ask(target, headers=headers)


def said(agent: LiveAgent, user: str) -> str:
    """The line of the log about a refusal."""
    lines = agent.log.read_text().splitlines()
    return next(line for line in lines if "admission.decided" in line and user in line)


def test_who_is_admitted_reaches_the_service_with_what_policies_say(live: Live) -> None:
    forged = [("X-User", "ann"), ("X-Risk-Level", "0"), ("X-Admission-Class", "gold")]
    answer = ask(live.port, "/seats/7?day=2", forged)
    assert answer.status == 200
    told = json.loads(answer.body)
    assert told["path"] == "/seats/7?day=2"
    assert told["headers"]["x-user"] == "ann"
    assert "x-risk-level" in told["headers"]
    if live.plane != "nginx":
        # nginx sets what it was told the names of; this one it does not know.
        assert "x-admission-class" not in told["headers"]


def test_who_goes_on_gets_the_cookies_of_policies(live: Live) -> None:
    told = ask(live.port, "/seats/9", []).headers
    cookie = told["set-cookie"]
    assert cookie.startswith("signalbox_ticket_inside=")
    assert "HttpOnly" in cookie
    assert told["x-own"] == "1"
    assert not [name for name in told if name != "set-cookie" and "cookie" in name]
    again = ask(live.port, "/seats/10", [("Cookie", cookie.partition(";")[0])])
    assert again.status == 200
    assert "set-cookie" not in again.headers


def test_the_agent_sees_the_request_that_the_client_sent(live: Live) -> None:
    headers = [("X-User", "bob"), ("X-Forwarded-For", "198.51.100.9")]
    with closing(Client(live.port, source="127.0.0.5")) as client:
        for _ in range(2):
            answer = client.ask("/seats/bob?day=2", "PUT", "Shop.Example", headers)
    assert answer.status == 429
    line = said(live.agent, "/seats/bob")
    for part in ("method=PUT", "host=shop.example", "path=/seats/bob", "source=127.0.0.5"):
        assert part in line, line


def test_who_is_refused_gets_the_agents_answer_whole(live: Live) -> None:
    for _ in range(2):
        answer = ask(live.port, "/eve", [("X-User", "eve"), ("Accept", "application/json")])
    assert answer.status == 429
    assert answer.headers["content-type"] == "application/problem+json"
    assert int(answer.headers["retry-after"]) > 0
    assert json.loads(answer.body)["verdict"] == "refuse"
    assert answer.headers["cache-control"] == "no-store"
    browser = [("X-User", "eve"), ("Accept", "text/html"), ("Accept-Language", "zh-CN")]
    page = ask(live.port, "/eve", browser)
    assert page.status == 429
    assert '<html lang="zh">' in page.body


def usual_s(port: int, count: int, expected: int) -> float:
    """The median time of some requests that all get this status; each has its own user.

    On a machine that starves the proxy, who speaks for the agent is too late for 20 ms as well, and
    is left alone for a quarter of a second: then it is asked anew, up to ten times.
    """
    for _ in range(ROUNDS - 1):
        took, others = asked(port, count, expected)
        if not others:
            return statistics.median(took)
        time.sleep(PAUSE_S)
    took, others = asked(port, count, expected)
    assert not others, others
    return statistics.median(took)


def asked(port: int, count: int, expected: int) -> tuple[list[float], list[int]]:
    """How long requests took, and every status that is another one."""
    took: list[float] = []
    others: list[int] = []
    with closing(Client(port)) as client:
        for _ in range(count):
            began_s = time.monotonic()
            answer = client.ask("/", headers=[("X-User", f"user-{next(USERS)}")])
            took.append(time.monotonic() - began_s)
            if answer.status != expected:
                others.append(answer.status)
    return took, others


@pytest.mark.parametrize("plane", sorted({*SITES} - {"traefik"}))
def test_without_an_agent_requests_go_on(plane: str, tmp_path: Path) -> None:
    with site(tmp_path, plane) as live:
        _until(live.port, 200)
        assert usual_s(live.port, 5, 200) < BOUND_S
        live.agent.hang()
        assert usual_s(live.port, 50, 200) < BOUND_S
        live.agent.kill()
        assert usual_s(live.port, 50, 200) < BOUND_S
        if plane in ROUTE_BY_ROUTE:
            assert ask(live.port, "/other", []).status == 503
        with live_agent(tmp_path, "--trust", "127.0.0.1/32", door=live.agent.door):
            # It is asked again: the second request of somebody is refused.
            _until(live.port, 429)


@pytest.mark.parametrize("plane", sorted(SITES))
def test_without_an_agent_requests_may_be_refused(plane: str, tmp_path: Path) -> None:
    with site(tmp_path, plane, WhenAway.REFUSE) as live:
        # On a busy machine even an agent that is well may be too late for 20 ms.
        _until(live.port, 200)
        live.agent.hang()
        took_s = [refused_s(live.port) for _ in range(20)]
        # A hung agent would take as long as the client waits.
        assert statistics.median(took_s) < BOUND_S
        live.agent.kill()
        refused_s(live.port)
        if plane in ROUTE_BY_ROUTE:
            assert ask(live.port, "/other", []).status == 200


def refused_s(port: int) -> float:
    """How long it takes to be refused."""
    began_s = time.monotonic()
    assert ask(port, "/", [("X-User", "ann")]).status in (500, 502, 503, 504)
    return time.monotonic() - began_s


def _until(port: int, status: int) -> None:
    end_s = time.monotonic() + 15
    while ask(port, "/", [("X-User", "late")]).status != status:
        assert time.monotonic() < end_s, f"no {status}"
        time.sleep(0.1)
