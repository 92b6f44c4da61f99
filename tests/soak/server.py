"""`signalbox serve` as a process on free ports, with a client that is its admin."""

import asyncio
import contextlib
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx

START_S = 60.0
STOP_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A running control plane.

    Attributes:
        folder: its data folder; log: where it logs.
    """

    http: httpx.AsyncClient
    pid: int
    token: str
    folder: Path
    log: Path

    async def get(self, path: str, **params: object) -> object:
        answer = await self.http.get(path, params=params)
        answer.raise_for_status()
        return answer.json()

    async def items(self, path: str, **params: object) -> list[dict]:
        found = await self.get(path, **params)
        assert isinstance(found, dict)
        return list(found["items"])

    async def metric(self, name: str) -> float:
        """One metric without labels."""
        text = (await self.http.get("/metrics")).text
        found = re.search(rf"^{name} (\S+)$", text, re.MULTILINE)
        assert found, name
        return float(found.group(1))

    def memory_mb(self) -> float:
        """Resident memory of the process itself, in MB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found, status
        return int(found.group(1)) / 1024


@contextlib.asynccontextmanager
async def serving(
    folder: Path, settings: dict[str, object], token: str = ""
) -> AsyncIterator[Server]:
    """Start, serve, stop by SIGTERM; `settings` without prefix, mappings as JSON.

    Args:
        token: of an earlier start in the same folder; the first start prints its own.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith("SIGNALBOX_")}
    given = {"data_dir": folder / "data", "http_port": 0, "ads_port": 0, **settings}
    own |= {f"SIGNALBOX_{name.upper()}": _text(value) for name, value in given.items()}
    out, log = folder / "out", folder / "log"
    with out.open("wb") as printed, log.open("wb") as logged:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "controlplane", "serve", env=own, stdout=printed, stderr=logged
        )
    try:
        url = await _found(r"api=(http://\S+)", log, process)
        token = token or await _found(r"(sbx_\S+)", out, process)
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=30.0) as http:
            yield Server(http=http, pid=process.pid, token=token, folder=folder / "data", log=log)
        process.terminate()
        code = await asyncio.wait_for(process.wait(), STOP_S)
        assert code == 0, log.read_text()[-2_000:]
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _text(value: object) -> str:
    return json.dumps(value) if isinstance(value, dict) else str(value)


async def _found(pattern: str, path: Path, process: asyncio.subprocess.Process) -> str:
    async with asyncio.timeout(START_S):
        while process.returncode is None:
            if match := re.search(pattern, path.read_text()):
                return match.group(1)
            await asyncio.sleep(0.05)
    raise AssertionError(f"{path} never showed {pattern}: {path.read_text()[-2_000:]}")
