"""Server-sent events: the form of an event, and the stream of what is new.

Called by the watch resource. Nothing is queued: a reader that is slow gets the newest state when
it can take it, so memory does not grow with readers or with time.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import orjson

from controlplane.domain.decisions import Decision
from controlplane.domain.errors import Refused, Retryable
from controlplane.domain.snapshot import Snapshot
from controlplane.engine.publishing.publication import Publication

MEDIA_TYPE = "text/event-stream"
HEARTBEAT = b": alive\n\n"
HEARTBEAT_S = 15.0
# Decisions have no waiters of their own; who asks for them is woken this often.
DECISIONS_EVERY_S = 1.0


def event(name: str, data: object, revision: int | None = None) -> bytes:
    """One event; `revision` becomes its id, by which a reader resumes."""
    head = b"" if revision is None else b"id: %d\n" % revision
    return b"%sevent: %s\ndata: %s\n\n" % (head, name.encode(), orjson.dumps(data))


@dataclass(slots=True, kw_only=True)
class Watch:
    """What one reader follows, and what it has seen.

    Attributes:
        decisions: gives the newest decision of each service; None follows snapshots only.
        summary: a decision as JSON's types.
        allowed: raises Refused when the reader's token has ended.
        revision: the newest that the reader has.
    """

    publication: Publication
    decisions: Callable[[], Mapping[str, Decision]] | None
    summary: Callable[[Decision], object]
    allowed: Callable[[], Awaitable[object]]
    revision: int = 0
    _seen: dict[str, str] = field(default_factory=dict)

    async def events(self) -> AsyncIterator[bytes]:
        """Events and heartbeats until the reader leaves, its token ends, or the process stops."""
        current = self.publication.current
        if current is None or self.revision > current.revision:
            # The id is from another life of the store: begin anew.
            self.revision = 0
        yield HEARTBEAT
        clock = asyncio.get_running_loop().time
        beat = clock() + HEARTBEAT_S
        while True:
            new = await self._next(beat - clock())
            if new:
                yield new
            if self.publication.closed:
                return
            if clock() >= beat:
                if not await self._still_allowed():
                    return
                yield HEARTBEAT
                beat = clock() + HEARTBEAT_S

    async def _still_allowed(self) -> bool:
        """Whether the token is good; a store that is away ends nobody's stream."""
        try:
            await self.allowed()
        except Refused:
            return False
        except Retryable:
            pass
        return True

    async def _next(self, due_s: float) -> bytes:
        """What is new within the time until the heartbeat; b"" when nothing is."""
        wait_s = due_s if self.decisions is None else min(due_s, DECISIONS_EVERY_S)
        new = self._new_decisions()
        snapshot = await self.publication.changed_since(self.revision, 0 if new else wait_s)
        if snapshot is not None:
            self.revision = snapshot.revision
            new = event("snapshot", _snapshot(snapshot), snapshot.revision) + new
        return new

    def _new_decisions(self) -> bytes:
        if self.decisions is None:
            return b""
        new = b""
        for service, decision in sorted(self.decisions().items()):
            if self._seen.get(service) != decision.id:
                self._seen[service] = decision.id
                new += event("decision", self.summary(decision))
        return new


def _snapshot(snapshot: Snapshot) -> object:
    return {
        "revision": snapshot.revision,
        "version": snapshot.version,
        "digests": {section.value: digest for section, digest in snapshot.digests.items()},
    }
