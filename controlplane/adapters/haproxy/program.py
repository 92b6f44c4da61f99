"""A running HAProxy: checks of files, reloads, and changes over the runtime socket.

Called by the plane of files. What differs in weights and maps only goes over the socket, so that
no connection is touched; the files say the same, so a restart comes back with it. Everything else
is a reload, which hands the listening sockets over.
"""

import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from controlplane.adapters.haproxy.render import CONFIGURATION, REVISION_FILE
from controlplane.adapters.haproxy.socket import RuntimeSocket
from controlplane.domain.errors import Retryable
from controlplane.ports.outside import Processes

Files = Mapping[str, bytes]
CHECK_S, RELOAD_S = 20.0, 10.0
# A server that starts at weight 0 gets a wrong share later: such a change is a reload.
_WEIGHT = re.compile(rb" weight [1-9]\d*")
_SERVER = re.compile(r"server (\S+) \S+ weight (\d+)")
# Files that HAProxy keeps in memory as maps and takes over the socket.
_MAPS = ("routes.map", "hosts.map", "suffixes.map", REVISION_FILE)


@dataclass(frozen=True, slots=True, kw_only=True)
class HaproxyProgramOptions:
    """Where this HAProxy is.

    Attributes:
        directory: of its files; `haproxy.pid` in it is the master's.
        socket: of its runtime API.
        binary: "" looks for one, and goes without checks when there is none.
        reload: command in place of the signal to the master.
    """

    directory: Path
    socket: Path
    binary: str = ""
    reload: Sequence[str] = ()


class HaproxyProgram:
    """Implements the plane of files' program."""

    def __init__(self, options: HaproxyProgramOptions, processes: Processes) -> None:
        self._options = options
        self._processes = processes
        self._socket = RuntimeSocket(options.socket)

    async def check(self, folder: Path) -> str | None:
        """Let `haproxy -c` read the files."""
        binary = self._processes.find(self._options.binary, "haproxy")
        if not binary:
            return None
        command = [binary, "-c", "-f", str(folder / CONFIGURATION)]
        words = await self._processes.words_of(command, CHECK_S)
        if words is None:
            return None
        return words[max(words.find("[ALERT]"), 0) :].replace(f"{folder}/", "")

    async def take(self, before: Files, after: Files) -> None:
        """Over the socket where that is enough, else by a reload."""
        if await self._socket.revision() is None:
            # It is not there; it starts with what is in place.
            return
        if before and _shape(before) == _shape(after):
            await self._change(before, after)
        else:
            await self._reload(after)

    async def repair(self, files: Files) -> None:
        """Put weights and maps back that somebody changed, or a reload that was lost."""
        runs = await self._socket.revision()
        if runs is None:
            return
        if runs != _revision(files):
            await self._reload(files)
            return
        wanted, weights = _weights(files), await self._socket.weights()
        lost = {key: weight for key, weight in wanted.items() if weights.get(key, weight) != weight}
        if lost:
            await self._socket.set_weights(lost)

    async def runs(self) -> str | None:
        """The revision that it runs."""
        return await self._socket.revision()

    async def _change(self, before: Files, after: Files) -> None:
        try:
            old = _weights(before)
            changed = {k: weight for k, weight in _weights(after).items() if old.get(k) != weight}
            await self._socket.set_weights(changed)
            for name in _MAPS:
                if before.get(name) != after.get(name) and name in after:
                    await self._socket.replace_map(name, after[name].decode().splitlines())
        except (OSError, TimeoutError) as error:
            raise Retryable(
                "haproxy_socket_away", f"{self._options.socket} did not answer: {error}"
            ) from error

    async def _reload(self, after: Files) -> None:
        options = self._options
        if options.reload:
            words = await self._processes.words_of(options.reload, RELOAD_S)
            if words is not None:
                raise Retryable("haproxy_reload_failed", f"{options.reload[0]} failed: {words}")
        elif not self._processes.tell(options.directory / "haproxy.pid", signal.SIGUSR2):
            raise Retryable(
                "haproxy_reload_failed",
                f"no process of {options.directory / 'haproxy.pid'}: start HAProxy with -W -p "
                "and that file, or give a reload command",
            )
        await self._until(_revision(after))

    async def _until(self, revision: str) -> None:

        async def is_taken() -> bool:
            return await self._socket.revision() == revision

        if not await self._processes.until(is_taken, RELOAD_S):
            raise Retryable(
                "haproxy_reload_failed",
                f"HAProxy does not run revision {revision.partition(':')[0]} within "
                f"{RELOAD_S:g} s of a reload; its log says why",
            )


def _shape(files: Files) -> dict[str, bytes]:
    """Everything that only a reload changes."""
    rest = {name: data for name, data in files.items() if name not in _MAPS}
    return {**rest, CONFIGURATION: _WEIGHT.sub(b"", files[CONFIGURATION])}


def _revision(files: Files) -> str:
    return files[REVISION_FILE].decode().split()[1]


def _weights(files: Files) -> dict[tuple[str, str], int]:
    found, section = {}, ""
    for line in files[CONFIGURATION].decode().splitlines():
        if line.startswith("backend "):
            section = line.partition(" ")[2]
        elif (server := _SERVER.match(line.strip())) is not None:
            found[section, server[1]] = int(server[2])
    return found
