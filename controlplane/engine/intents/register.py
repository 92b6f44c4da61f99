"""The register of intents: the standing ones in memory, every change numbered and stored.

Owned by `intents`; nobody else changes it. Changes go through compare-and-set on the number of the
newest one. An evacuation does not wait for a database, nor does an operator who ends it: what the
store does not take now is in force at once, kept in order, and stored as soon as it takes it,
behind what another process has stored.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog

from controlplane.domain.access import AuditEntry
from controlplane.domain.errors import Conflict, NotFound, Retryable
from controlplane.domain.intents.intent import Intent, intent_id
from controlplane.engine.intents.standing import InForce, Standing, rollbacks
from controlplane.ports.stores import IntentStore, SnapshotStore

log = structlog.get_logger(__name__)

# Changes that a caller with an old number is told of.
REMEMBERED = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    intents: tuple[Intent, ...]
    before: int
    audit: tuple[AuditEntry, ...]


class IntentRegister:
    """Standing intents by number.

    Attributes:
        change: number of the newest change.
    """

    def __init__(self, store: IntentStore, snapshots: SnapshotStore, standing: Standing) -> None:
        self._store = store
        self._snapshots = snapshots
        self._standing = standing
        self._recent: OrderedDict[int, Intent] = OrderedDict()
        self._unsaved: list[_Change] = []
        self.change = 0

    @property
    def standing(self) -> tuple[Intent, ...]:
        """Those that have not ended, by number."""
        return self._standing.intents

    @property
    def known(self) -> tuple[Intent, ...]:
        """Those that stand, and those that ended lately in this process, by number."""
        known = {one.number: one for one in (*self._recent.values(), *self.standing)}
        return tuple(one for _, one in sorted(known.items()))

    @property
    def unsaved(self) -> int:
        """Changes that the store does not have yet."""
        return len(self._unsaved)

    async def restore(self) -> None:
        """Take up what stands, with the contents that rollbacks publish; what waits for the store
        stands over it."""
        found = await self._store.standing()
        change = await self._store.change()
        for one in found:
            await self._fetch(one)
        self.change = change
        self._standing.intents = tuple(found)
        for each in self._unsaved:
            self._adopt(each.intents)

    async def by_id(self, intent_id: str) -> Intent:
        """One intent, standing or ended; NotFound."""
        for one in (*self.standing, *reversed(self._recent.values())):
            if one.id == intent_id:
                return one
        return await self._store.by_id(intent_id)

    async def recent(self, limit: int, before: int | None = None) -> list[Intent]:
        """The latest made first; what stands is shown as it is in memory."""
        found = {one.number: one for one in await self._store.recent(limit, before)}
        for one in self.known:
            number = one.number
            if number in found or (
                not self._stored(number) and (before is None or number < before)
            ):
                found[number] = one
        return [found[number] for number in sorted(found, reverse=True)][:limit]

    def expect(self, change: int | None) -> None:
        """Raise Conflict, telling what changed, when the register is not at that change."""
        if change is None or change == self.change:
            return
        since = self._changed(change)
        told = "; ".join(
            f"{one.id} of {one.author} ({one.target.subject}) is {one.state}" for one in since[:5]
        )
        raise Conflict(
            "intents_changed",
            f"the register of intents is at change {self.change}, you have seen {change}"
            f"{': ' + told if told else ''}. Read the list again, then decide again",
            {
                "newest": self.change,
                "expected": change,
                "changed": [
                    {
                        "id": one.id,
                        "kind": one.kind.value,
                        "target": one.target.subject,
                        "author": one.author,
                        "state": one.state.value,
                        "reason": one.wanted.reason,
                    }
                    for one in since
                ],
            },
        )

    async def put(
        self, intents: Sequence[Intent], audit: Sequence[AuditEntry], *, at_once: bool = False
    ) -> None:
        """Store the next states of intents, all under the next number, and let them stand.

        Args:
            at_once: also when the store is away; it gets them later.

        Raises:
            Retryable: the store is away and it is not `at_once`.
            Conflict: another process changed the register; what it changed is taken over.
        """
        for one in intents:
            await self._fetch(one)
        before = self.change
        change = _Change(intents=tuple(intents), before=before, audit=tuple(audit))
        try:
            await self.save()
            await self._store.put(change.intents, before, change.audit)
        except Retryable as error:
            if not at_once:
                raise
            log.warning("intents.store_away", waiting=self.unsaved + 1, reason=error.message)
            self._unsaved.append(change)
        except Conflict:
            await self.restore()
            raise
        self._adopt(change.intents)

    async def save(self) -> None:
        """Store what the store did not take before; Retryable as long as it does not."""
        while self._unsaved:
            first = self._unsaved[0]
            try:
                await self._store.put(first.intents, first.before, first.audit)
            except Conflict:
                # A write that was given up may have been committed after all.
                if not all([await self._stands_in_store(one) for one in first.intents]):
                    await self._go_behind()
                    continue
            del self._unsaved[0]

    def published(self, in_force: InForce) -> None:
        """Remember the first revision that has each intent as it is."""
        self._standing.intents = tuple(
            replace(one, published=in_force.snapshot.revision)
            if not one.published and one.change in in_force.changes
            else one
            for one in self.standing
        )

    def _adopt(self, intents: Sequence[Intent]) -> None:
        self.change = max(self.change, *(one.change for one in intents))
        by_number = {one.number: one for one in self.standing}
        for one in intents:
            self._recent.pop(one.number, None)
            self._recent[one.number] = one
            by_number[one.number] = one
        while len(self._recent) > REMEMBERED:
            self._recent.popitem(last=False)
        standing = [one for _, one in sorted(by_number.items()) if one.standing]
        self._standing.intents = tuple(standing)
        wanted = rollbacks(standing)
        self._standing.earlier = {
            revision: content
            for revision, content in self._standing.earlier.items()
            if revision in wanted
        }

    async def _fetch(self, intent: Intent) -> None:
        """Have the content at hand that a rollback publishes."""
        for revision in rollbacks([intent]):
            if revision not in self._standing.earlier:
                snapshot = await self._snapshots.at(revision)
                self._standing.earlier = {**self._standing.earlier, revision: snapshot.content}

    async def _stands_in_store(self, intent: Intent) -> bool:
        """Whether the store has this state of an intent, or a later one."""
        stored = await self._stored_as(intent.id)
        return (
            stored is not None
            and (stored.author, stored.created_s) == (intent.author, intent.created_s)
            and stored.change >= intent.change
        )

    async def _stored_as(self, name: str) -> Intent | None:
        try:
            return await self._store.by_id(name)
        except NotFound:
            return None

    async def _go_behind(self) -> None:
        """Number what waits after what another process has stored, which stays as it is."""
        since = self._unsaved[0].before
        change = await self._store.change()
        numbers: dict[int, int] = {}
        waiting = []
        for each in self._unsaved:
            intents = []
            for one in each.intents:
                if one.number > since:
                    number = numbers.setdefault(one.number, change + 1)
                    renamed = replace(one, number=number, id=intent_id(one.kind, number))
                    intents.append(replace(renamed, change=change + 1))
                elif (stored := await self._stored_as(one.id)) and stored.change <= since:
                    intents.append(replace(one, change=change + 1))
            if intents:
                waiting.append(_Change(intents=tuple(intents), before=change, audit=each.audit))
                change += 1
        for number in numbers:
            self._recent.pop(number, None)
        self._unsaved = waiting
        log.warning("intents.numbered_anew", since=since, waiting=len(waiting))
        await self.restore()

    def _changed(self, since: int) -> list[Intent]:
        return [one for one in self.known if one.change > since]

    def _stored(self, number: int) -> bool:
        return all(number != one.number for each in self._unsaved for one in each.intents)
