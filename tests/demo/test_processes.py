import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from controlplane.demo.processes import Child, ChildFailed, Command, Processes, wait_ready

SLEEPER = (sys.executable, "-c", "import time; time.sleep(60)")
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_leaving_the_context_ends_every_child_even_a_stubborn_one(tmp_path: Path) -> None:
    children: list[Child] = []

    def fails_half_way() -> None:
        with Processes(tmp_path) as processes:
            children.append(processes.start(Command(name="meek", arguments=SLEEPER)))
            stubborn = (sys.executable, "-c", STUBBORN)
            children.append(processes.start(Command(name="stubborn", arguments=stubborn)))
            time.sleep(0.3)
            raise RuntimeError("boom")

    with pytest.raises(RuntimeError, match="boom"):
        fails_half_way()
    assert not any(alive(child.process.pid) for child in children)


def test_a_child_that_ends_by_itself_is_noticed_with_the_end_of_its_log(tmp_path: Path) -> None:
    script = "import sys; print('no such thing', file=sys.stderr); sys.exit(3)"
    with Processes(tmp_path) as processes:
        child = processes.start(Command(name="broken", arguments=(sys.executable, "-c", script)))
        with pytest.raises(ChildFailed, match=r"(?s)broken ended with 3.*no such thing"):
            wait_ready(child, "http://127.0.0.1:9/", 10.0)
        with pytest.raises(ChildFailed):
            processes.check()


def test_a_killed_child_can_be_forgotten(tmp_path: Path) -> None:
    with Processes(tmp_path) as processes:
        child = processes.start(Command(name="victim", arguments=SLEEPER))
        child.kill()
        processes.forget(child)
        processes.check()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_children_end_with_the_demo_whatever_ends_it(tmp_path: Path, number: int) -> None:
    script = (
        "import sys, time; from pathlib import Path\n"
        "from controlplane.demo.processes import Command, Processes\n"
        f"with Processes(Path({str(tmp_path)!r})) as processes:\n"
        f"    child = processes.start(Command(name='child', arguments={SLEEPER!r}))\n"
        "    print(child.process.pid, flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen(
        (sys.executable, "-c", script),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as demo:
        assert demo.stdout is not None
        child = int(demo.stdout.readline())
        demo.send_signal(number)
        demo.wait(10)
    deadline_s = time.monotonic() + 5.0
    while alive(child) and time.monotonic() < deadline_s:
        time.sleep(0.02)
    assert not alive(child)
