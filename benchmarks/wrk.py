"""wrk as a child: one thread that asks for many URLs in turn, and what came of it.

No benchmark of its own. Debian's package of that name has it.
"""

import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

DEADLINE_S = 60.0
_SCRIPT = """
local requests, at = {}, 0
function init(args)
  for path in io.lines(args[1]) do
    requests[#requests + 1] = wrk.format("GET", path)
  end
end
function request()
  at = at % #requests + 1
  return requests[at]
end
function done(summary, latency, all)
  local e = summary.errors
  io.write(string.format(
    '\\n{"requests": %d, "us": %d, "mean_us": %f, "p99_us": %f, "failed": %d}\\n',
    summary.requests, summary.duration, latency.mean, latency:percentile(99),
    e.connect + e.read + e.write + e.status + e.timeout))
end
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What one run saw; `failed` counts answers that are no success, too."""

    requests: int
    seconds: float
    mean_ms: float
    p99_ms: float
    failed: int

    @property
    def rps(self) -> float:
        """Requests per second."""
        return self.requests / self.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrk:
    """A generator whose URLs are in a file."""

    binary: str
    script: Path
    urls: Path

    def run(self, port: int, connections: int, seconds: int) -> Load:
        """Ask as fast as answers come, over so many connections."""
        command = [
            *(self.binary, "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s"),
            *("-s", str(self.script), f"http://127.0.0.1:{port}/", "--", str(self.urls)),
        ]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds + DEADLINE_S, check=False
        )
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode or not lines:
            raise RuntimeError(f"wrk failed: {done.stdout}{done.stderr}")
        told = json.loads(lines[-1])
        return Load(
            requests=told["requests"],
            seconds=told["us"] / 1e6,
            mean_ms=told["mean_us"] / 1e3,
            p99_ms=told["p99_us"] / 1e3,
            failed=told["failed"],
        )


def prepared(folder: Path, urls: Sequence[str]) -> Wrk:
    """A generator with its files in a folder."""
    binary = shutil.which("wrk")
    if binary is None:
        raise FileNotFoundError("no wrk: .ci/servers installs Debian's package of that name")
    script, listed = folder / "urls.lua", folder / "urls.txt"
    script.write_text(_SCRIPT)
    listed.write_text("".join(f"{url}\n" for url in urls))
    return Wrk(binary=binary, script=script, urls=listed)
