"""A real gateway agent as a child process, for benchmarks and for live tests.

It goes by policies that are put into its folder, as an earlier run would have left them, and ends
with its context.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from benchmarks.free_ports import free_ports
from controlplane.domain import canonical
from controlplane.domain.admission.policy import Policy
from controlplane.domain.routing.matching.table import Table
from controlplane.domain.routing.matching.wire import encoded
from controlplane.domain.routing.route import Route
from controlplane.domain.snapshot import PoliciesSection
from gateway.last_good.policy_file import policy_file
from gateway.last_good.polling import Fetched
from gateway.last_good.route_file import route_file

GROUP = "edge"
# A machine that runs other tests starts a process slowly.
START_S = 60.0
STOP_S = 10.0


@dataclass(slots=True)
class LiveAgent:
    """One agent: where proxies ask it, where its metrics are, and its log."""

    door: int
    status: int
    log: Path
    process: subprocess.Popen[bytes]

    def metric(self, name: str) -> float:
        """The sum of a metric over its labels."""
        text = httpx.get(f"http://127.0.0.1:{self.status}/metrics", trust_env=False).text
        lines = (line for line in text.splitlines() if line.split("{")[0].split(" ")[0] == name)
        return sum(float(line.rpartition(" ")[2]) for line in lines)

    def hang(self) -> None:
        """Stop it as it stands; its port still takes connections."""
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """The contrary."""
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it at once, as kill -9 does."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """End it in good order, and return its exit code."""
        self.process.terminate()
        return self.process.wait(STOP_S)


def leave(folder: Path, policies: Sequence[Policy], routes: Sequence[Route] = ()) -> None:
    """Put policies and routes where an agent finds them at its start."""
    section = canonical.encode(PoliciesSection(policies=tuple(policies)))
    policy_file(folder).store(Fetched(body=section, tag='"left"', revision=1))
    table = encoded(Table.of(routes, (), GROUP))
    route_file(folder).store(Fetched(body=table, tag='"left"', revision=1))


@contextlib.contextmanager
def live_agent(folder: Path, *options: str, door: int = 0) -> Iterator[LiveAgent]:
    """An agent that is ready; `options` are those of `python -m gateway run`.

    Args:
        door: a port that proxies know already; 0 takes a free one.
    """
    free, status = free_ports(2)
    port = door or free
    log = folder / "agent.log"
    command = [sys.executable, "-m", "gateway", "run", "--group", GROUP, "--folder", str(folder)]
    doors = ["--forward-auth", f"127.0.0.1:{port}", "--status", f"127.0.0.1:{status}"]
    with log.open("ab") as output:
        process = subprocess.Popen([*command, *doors, *options], stdout=output, stderr=output)
    agent = LiveAgent(door=port, status=status, log=log, process=process)
    try:
        _until_ready(agent)
        yield agent
    finally:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGCONT)
            process.kill()
        process.wait()


def _until_ready(agent: LiveAgent) -> None:
    end_s = time.monotonic() + START_S
    while time.monotonic() < end_s:
        if agent.process.poll() is not None:
            raise RuntimeError(f"the agent has ended:\n{agent.log.read_text()}")
        with contextlib.suppress(httpx.TransportError):
            url = f"http://127.0.0.1:{agent.status}/readyz"
            if httpx.get(url, trust_env=False).status_code == httpx.codes.OK:
                return
        time.sleep(0.02)
    raise TimeoutError(f"the agent is not ready:\n{agent.log.read_text()}")
