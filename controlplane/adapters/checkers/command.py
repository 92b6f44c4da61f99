"""Command checks: a program of this machine whose exit code 0 is a pass.

The fleet document only names a command; what it runs stands in this machine's settings, so that
who may declare a fleet may not run programs here. `{address}` and `{port}` in its arguments are the
endpoint's.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence

from controlplane.domain.health.picture import EndpointKey
from controlplane.domain.services import HealthCheck

MOST_WORDS = 200
# Of the output: what has so many words at most. The rest is read and thrown away, so that a command
# that talks much ends as one that does not.
MOST_BYTES = 4_096
CHUNK_BYTES = 65_536


class CommandChecker:
    """Implements `ports.health.Checker`.

    Args:
        commands: name -> program and arguments.
    """

    def __init__(self, commands: Mapping[str, Sequence[str]]) -> None:
        self._commands = commands

    async def check(self, endpoint: EndpointKey, check: HealthCheck) -> str:
        """Run the command; what is left of it after the timeout is killed."""
        given = self._commands.get(check.command)
        if not given:
            return f"this observer knows no command {check.command!r}"
        command = [_filled(word, endpoint) for word in given]
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                # What the command started itself ends with it.
                start_new_session=True,
            )
        except OSError as error:
            return f"{command[0]} cannot be started: {error.strerror}"
        try:
            async with asyncio.timeout(check.timeout_ms / 1_000):
                output = await _beginning(process)
        except TimeoutError:
            return f"no answer within {check.timeout_ms} ms"
        finally:
            await _end(process)
        if process.returncode == 0:
            return ""
        words = " ".join(output.decode(errors="replace").split())[:MOST_WORDS]
        return f"exit {process.returncode}: {words}" if words else f"exit {process.returncode}"


def _filled(word: str, endpoint: EndpointKey) -> str:
    # Not `format`: braces of a program's own (awk, jq) stay as they are.
    return word.replace("{address}", endpoint.address).replace("{port}", str(endpoint.port))


async def _beginning(process: asyncio.subprocess.Process) -> bytes:
    """The first bytes of what a command says until it ends."""
    output = b""
    if process.stdout is not None:
        while chunk := await process.stdout.read(CHUNK_BYTES):
            output += chunk[: MOST_BYTES - len(output)]
    await process.wait()
    return output


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
