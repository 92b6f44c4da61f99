"""HAProxy's runtime socket: what it runs, and changes without a reload.

Called by `program`. A command that HAProxy refuses is its words back, so each is compared.
"""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path

from controlplane.adapters.haproxy.render import REVISION_FILE
from controlplane.domain.errors import Retryable

DEADLINE_S = 5.0
# Bytes of one command; HAProxy's buffer has 16,384.
MOST_BYTES = 12_000
Weights = Mapping[tuple[str, str], int]


class RuntimeSocket:
    """One HAProxy's socket."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def revision(self) -> str | None:
        """What stands in the revision map; None when nobody answers."""
        try:
            answer = await self.ask(f"show map {REVISION_FILE}")
        except (OSError, TimeoutError):
            return None
        words = answer.split()
        return words[2] if len(words) >= 3 else None

    async def weights(self) -> Weights:
        """Weight of each server, by backend and name, in parts of its configured weight."""
        lines = (await self.ask("show servers state")).splitlines()
        found = (line.split() for line in lines if line and not line.startswith(("#", "1")))
        return {(row[1], row[3]): int(row[7]) for row in found if len(row) > 7 and row[7].isdigit()}

    async def set_weights(self, weights: Weights) -> None:
        """Give servers their weights."""
        commands = [
            f"set server {backend}/{server} weight {weight}"
            for (backend, server), weight in sorted(weights.items())
        ]
        for start in range(0, len(commands), 100):
            await self._do("; ".join(commands[start : start + 100]))

    async def replace_map(self, name: str, lines: Iterable[str]) -> None:
        """Put all entries of a map in place of those that it has, at once."""
        answer = await self.ask(f"prepare map {name}")
        version = answer.rpartition(" ")[2].strip()
        if not version.isdigit():
            raise _refused(f"prepare map {name}", answer)
        for some in _groups(lines):
            await self._do(f"add map @{version} {name} <<\n{some}")
        await self._do(f"commit map @{version} {name}")

    async def ask(self, command: str) -> str:
        """The answer to a command; OSError when nobody listens."""
        async with asyncio.timeout(DEADLINE_S):
            reader, writer = await asyncio.open_unix_connection(self._path)
            try:
                writer.write(f"{command}\n".encode())
                await writer.drain()
                return (await reader.read(-1)).decode(errors="replace").strip()
            finally:
                writer.close()

    async def _do(self, command: str) -> None:
        if answer := await self.ask(command):
            raise _refused(command, answer)


def _groups(lines: Iterable[str]) -> Iterable[str]:
    group: list[str] = []
    size = 0
    for line in lines:
        if size + len(line) > MOST_BYTES and group:
            yield "".join(group)
            group, size = [], 0
        group.append(f"{line}\n")
        size += len(line) + 1
    if group:
        yield "".join(group)


def _refused(command: str, answer: str) -> Retryable:
    return Retryable(
        "haproxy_socket_refuses",
        f"HAProxy refuses {command[:80]!r}: {' '.join(answer.split())[:200]}",
    )
