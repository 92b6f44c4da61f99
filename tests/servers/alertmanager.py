"""A real Alertmanager that sends what fires to a control plane, for live tests.

Debian's package is installed by `.ci/servers`; everything listens on loopback.
"""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import yaml

from benchmarks.free_ports import free_ports
from benchmarks.live_envoy import Child

START_S = 20.0


def binary() -> str:
    """Debian calls it by another name than its authors."""
    found = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
    if found is None:
        raise FileNotFoundError("no Alertmanager: run .ci/servers")
    return found


@contextlib.asynccontextmanager
async def alertmanager(
    folder: Path, receiver: str, token_file: Path, group_by: tuple[str, ...]
) -> AsyncIterator[str]:
    """Its address; it sends each group at once to `receiver`, as who has the token."""
    (port,) = free_ports(1)
    config = folder / "alertmanager.yaml"
    route = {
        "receiver": "signalbox",
        "group_by": list(group_by),
        "group_wait": "0s",
        "group_interval": "1s",
        "repeat_interval": "1h",
    }
    hook = {
        "url": receiver,
        "send_resolved": True,
        "http_config": {"authorization": {"type": "Bearer", "credentials_file": str(token_file)}},
    }
    receivers = [{"name": "signalbox", "webhook_configs": [hook]}]
    config.write_text(yaml.safe_dump({"route": route, "receivers": receivers}))
    with (folder / "alertmanager.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            binary(),
            f"--config.file={config}",
            f"--storage.path={folder / 'alertmanager'}",
            f"--web.listen-address=127.0.0.1:{port}",
            # Alone: it looks for no peers.
            "--cluster.listen-address=",
            stdout=log,
            stderr=log,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        await _ready(url)
        yield url
    finally:
        await Child(process=process).stop()


async def _ready(url: str) -> None:
    async with asyncio.timeout(START_S), httpx.AsyncClient(trust_env=False) as client:
        while True:
            with contextlib.suppress(httpx.TransportError):
                if (await client.get(f"{url}/-/ready")).is_success:
                    return
            await asyncio.sleep(0.05)
