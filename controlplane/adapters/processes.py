"""Programs on this machine: run one to its end, and tell one that runs to read its files again."""

import asyncio
import contextlib
import os
import shutil
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from controlplane.domain.errors import Retryable

# Debian keeps servers where a user's PATH may not look.
PLACES = "/usr/local/sbin:/usr/sbin:/sbin"
MOST_WORDS = 2_000
POLL_S = 0.02


class LocalProcesses:
    """Implements `ports.Processes`."""

    def find(self, setting: str, name: str) -> str:
        """Path of a program: the given one, else from PATH and the folders of servers."""
        if setting:
            return setting
        return shutil.which(name, path=f"{os.environ.get('PATH', '')}:{PLACES}") or ""

    async def words_of(self, command: Sequence[str], timeout_s: float) -> str | None:
        """What a program says when it fails, None when it ends well.

        Raises:
            Retryable: it cannot be started, or does not end in time.
        """
        try:
            process = await asyncio.create_subprocess_exec(
                *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
            )
        except OSError as error:
            raise _unusable(f"{command[0]} cannot be started: {error.strerror}") from error
        try:
            output, _ = await asyncio.wait_for(process.communicate(), timeout_s)
        except TimeoutError as error:
            raise _unusable(f"{command[0]} gave no answer within {timeout_s:g} s") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode == 0:
            return None
        return " ".join(output.decode(errors="replace").split())[-MOST_WORDS:] or "no words"

    def tell(self, pid_file: Path, number: int) -> bool:
        """Send a signal to the process whose id is in a file; whether there is one."""
        try:
            os.kill(int(pid_file.read_text()), number)
        except (FileNotFoundError, ProcessLookupError, ValueError):
            return False
        except PermissionError as error:
            raise _unusable(
                f"the process of {pid_file} is another user's: give a reload command that may "
                "reach it"
            ) from error
        return True

    async def until(self, holds: Callable[[], Awaitable[bool]], timeout_s: float) -> bool:
        """Wait until something holds; whether it came to that in time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while True:
                    if await holds():
                        return True
                    await asyncio.sleep(POLL_S)
        return False


def _unusable(words: str) -> Retryable:
    return Retryable("plane_program_unusable", words)
