"""The agent as a program: what it goes by, what it tells, and how it ends."""

import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from benchmarks.free_ports import free_port
from benchmarks.live_agent import leave, live_agent
from controlplane.domain.admission.policy import Attachment, Policy
from controlplane.domain.admission.rate_limit import RateLimitPolicy
from controlplane.domain.routing.route import PathMatch, PathMatchType, Route
from gateway.application.last_good import LastGood
from tests.gateway import fleet as fleets
from tests.servers.proxies import until_listens
from tests.servers.redis import redis_server

ROOT = Path(__file__).parents[2]
SEATS = Route(
    id="seats",
    service="tickets",
    path=PathMatch(type=PathMatchType.PATH_PREFIX, value="/seats"),
)
ONCE = Policy(
    name="once",
    attachment=Attachment(routes=("seats",)),
    rate_limit=RateLimitPolicy(rate_rps=0.01, burst=1, key=("source",)),
)


def ask(port: int, target: str) -> httpx.Response:
    return httpx.get(f"http://127.0.0.1:{port}/envoy{target}", trust_env=False)


def test_without_a_control_plane_it_goes_by_what_is_on_disk(tmp_path: Path) -> None:
    leave(tmp_path, [ONCE], [SEATS])
    nobody = f"http://127.0.0.1:{free_port()}"
    (tmp_path / "token").write_text("x")
    options = ["--api", nobody, "--token-file", str(tmp_path / "token")]
    with live_agent(tmp_path, *options) as agent:
        assert [ask(agent.door, "/seats/7").status_code for _ in range(2)] == [200, 429]
        # What the route does not cover is not asked about.
        assert [ask(agent.door, "/gates").status_code for _ in range(3)] == [200] * 3
        assert agent.metric("signalbox_agent_decisions_total") == 2
        assert agent.metric("signalbox_agent_answers_total") == 5
        assert agent.metric("signalbox_agent_policies") == 1
        assert agent.metric("signalbox_agent_policies_revision") == 1
        assert "admission.decided" in agent.log.read_text()
        assert agent.stop() == 0
    assert "agent.stopped" in agent.log.read_text()


def test_until_it_has_policies_it_is_not_ready_and_does_as_it_was_told(tmp_path: Path) -> None:
    door, status = free_port(), free_port()
    command = [sys.executable, "-m", "gateway", "run", "--group", "edge", "--folder"]
    doors = ["--forward-auth", f"127.0.0.1:{door}", "--status", f"127.0.0.1:{status}"]
    options = [str(tmp_path / "kept"), *doors, "--refuse-without-policies"]
    process = subprocess.Popen([*command, *options], stderr=subprocess.DEVNULL)
    try:
        until_listens(door)
        with httpx.Client(trust_env=False) as client:
            ready = client.get(f"http://127.0.0.1:{status}/readyz")
            assert (ready.status_code, "no policies yet" in ready.text) == (503, True)
            assert client.get(f"http://127.0.0.1:{status}/healthz").status_code == 200
            assert client.get(f"http://127.0.0.1:{status}/other").status_code == 404
            # Behind Envoy, which would take 503 for a failure of the agent and let it on.
            answer = client.get(f"http://127.0.0.1:{door}/envoy/")
            assert (answer.status_code, answer.json()["code"]) == (429, "agent_not_configured")
            assert "X-Original-URI" in client.get(f"http://127.0.0.1:{door}/other").text
        process.terminate()
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.wait()


def test_agents_with_one_redis_count_together(tmp_path: Path) -> None:
    limit = RateLimitPolicy(rate_rps=0.01, burst=3, scope="global")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        leave(tmp_path / name, [Policy(name="all", rate_limit=limit)])
    with redis_server(tmp_path) as redis:
        shared = ["--redis", redis.url, "--redis-deadline-ms", "500", "--budget-ms", "1000"]
        with (
            live_agent(tmp_path / "one", *shared, "--name", "one") as one,
            live_agent(tmp_path / "two", *shared, "--name", "two") as two,
        ):
            statuses = [ask(agent.door, "/").status_code for agent in (one, two, one, two)]
            assert sorted(statuses) == [200, 200, 200, 429]
            assert one.metric("signalbox_agent_fallbacks_total") == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--forward-auth", "0.0.0.0:1"], "not a loopback"),
        (["--redis", "localhost"], "redis://"),
        (["--user", "nobody"], "cookie:NAME"),
        (["--trust", "everybody"], "10.0.0.0/8"),
        (["--budget-ms", "0"], "--budget-ms"),
        (["--redis", "redis://h", "--redis-deadline-ms", "-1"], "--redis-deadline-ms"),
        (["--api", "http://h:1"], "--token-file"),
    ],
)
def test_a_wrong_option_says_what_is_right(options: list[str], words: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gateway", "run", "--group", "g", "--folder", str(tmp_path)]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert words in done.stderr


def test_its_metrics_are_documented(tmp_path: Path) -> None:
    leave(tmp_path, [ONCE], [SEATS])
    LastGood(tmp_path).store(fleets.body(fleets.fleet()), "1", 1)
    with live_agent(tmp_path, "--proxy", f"127.0.0.1:{free_port()}") as agent:
        ask(agent.door, "/")
        text = httpx.get(f"http://127.0.0.1:{agent.status}/metrics", trust_env=False).text
    served = set(re.findall(r"^# TYPE (signalbox_\w+) ", text, re.MULTILINE))
    page = (ROOT / "docs" / "gateway.md").read_text(encoding="utf-8")
    assert served == set(re.findall(r"^\| `(signalbox_agent_\w+)` \|", page, re.MULTILINE))


def test_help_names_every_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gateway", "--help"], capture_output=True, text=True, check=True
    )
    for command in ("run", "wiring", "xds-cache", "route"):
        assert f"  {command} " in done.stdout
    wrong = subprocess.run(
        [sys.executable, "-m", "gateway", "fly"], capture_output=True, text=True, check=False
    )
    assert (wrong.returncode, "no command 'fly'" in wrong.stderr) == (2, True)
