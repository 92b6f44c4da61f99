"""A running nginx: checks of files and reloads.

Called by the plane of files. A reload starts new workers and closes every idle connection, so
there is one in a few seconds at most; what comes in between waits.
"""

import asyncio
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from controlplane.adapters.nginx.render import CONFIGURATION
from controlplane.domain.errors import Retryable
from controlplane.ports.outside import Processes

Files = Mapping[str, bytes]
CHECK_S, RELOAD_S, STATUS_S = 20.0, 10.0, 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NginxProgramOptions:
    """Where this nginx is.

    Attributes:
        directory: of its files; `nginx.pid` in it is the master's, `status.sock` tells what runs.
        binary: "" looks for one, and goes without checks when there is none.
        reload: command in place of the signal to the master.
        interval_s: between two reloads, at least.
    """

    directory: Path
    binary: str = ""
    reload: Sequence[str] = ()
    interval_s: float = 3.0


class NginxProgram:
    """Implements the plane of files' program."""

    def __init__(self, options: NginxProgramOptions, processes: Processes) -> None:
        self._options = options
        self._processes = processes
        self._reloaded_s = float("-inf")

    async def check(self, folder: Path) -> str | None:
        """Let `nginx -t` read the file."""
        binary = self._processes.find(self._options.binary, "nginx")
        if not binary:
            return None
        configuration = str(folder / CONFIGURATION)
        command = [binary, "-t", "-q", "-p", str(self._options.directory), "-c", configuration]
        words = await self._processes.words_of(command, CHECK_S)
        return None if words is None else words.replace(f"{folder}/", "")

    async def take(self, before: Files, after: Files) -> None:
        """Reload, when it is there; it starts with what is in place otherwise."""
        if before != after and await self.runs() is not None:
            await self._reload(after)

    async def repair(self, files: Files) -> None:
        """Reload again when it runs something else."""
        runs = await self.runs()
        if runs is not None and _marked(runs) not in files[CONFIGURATION]:
            await self._reload(files)

    async def runs(self) -> str | None:
        """The revision that it runs, from its status socket."""
        try:
            async with asyncio.timeout(STATUS_S):
                path = self._options.directory / "status.sock"
                reader, writer = await asyncio.open_unix_connection(path)
                try:
                    writer.write(b"GET / HTTP/1.0\r\n\r\n")
                    answer = await reader.read(-1)
                finally:
                    writer.close()
        except (OSError, TimeoutError):
            return None
        return answer.rpartition(b"\r\n\r\n")[2].decode(errors="replace").strip() or None

    async def _reload(self, after: Files) -> None:
        options = self._options
        await asyncio.sleep(self._reloaded_s + options.interval_s - time.monotonic())
        self._reloaded_s = time.monotonic()
        if options.reload:
            words = await self._processes.words_of(options.reload, RELOAD_S)
            if words is not None:
                raise Retryable("nginx_reload_failed", f"{options.reload[0]} failed: {words}")
        elif not self._processes.tell(options.directory / "nginx.pid", signal.SIGHUP):
            raise Retryable(
                "nginx_reload_failed",
                f"no process of {options.directory / 'nginx.pid'}: give a reload command",
            )

        async def is_taken() -> bool:
            return _marked(await self.runs() or "nothing") in after[CONFIGURATION]

        if not await self._processes.until(is_taken, RELOAD_S):
            raise Retryable(
                "nginx_reload_failed",
                f"nginx does not run the new configuration within {RELOAD_S:g} s of a reload; "
                "its error log says why",
            )


def _marked(revision: str) -> bytes:
    return f'return 200 "{revision}\\n"'.encode()
