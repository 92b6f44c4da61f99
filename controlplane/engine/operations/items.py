"""Named things that people declare: in memory for those who read, in the store for the next start.

One class for policies, scenarios, changes and webhooks. A write goes to the store first, with its
audit entry; who gives the digest that he has seen is told when somebody else was faster.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from controlplane.domain import canonical
from controlplane.domain.access import AuditEntry, Principal
from controlplane.domain.errors import Conflict, NotFound, Refused
from controlplane.engine.stages import Instruments
from controlplane.ports.operations import ItemStore

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind(Generic[T]):
    """What is kept.

    Attributes:
        word: in subjects of the audit log and in messages: `alert-policy`.
        name_of: an item's name.
        shown: an item as text for the audit log; secrets left out.
        most: so many may be kept.
        together: raises what is wrong with all of them beside each other.
    """

    word: str
    name_of: Callable[[T], str]
    shown: Callable[[T], str]
    most: int = 1_000
    together: Callable[[Mapping[str, T]], None] = lambda _: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Who writes, why, and the digest that he has seen; None takes what is there."""

    author: Principal
    reason: str = ""
    expected: str | None = None


class Items(Generic[T]):
    """All items of one kind."""

    def __init__(self, kind: Kind[T], store: ItemStore[T], instruments: Instruments) -> None:
        self._kind = kind
        self._store = store
        self._now = instruments.now
        self._items: dict[str, T] = {}
        self._writing = asyncio.Lock()

    @property
    def all(self) -> Mapping[str, T]:
        """By name, in the order of names."""
        return self._items

    async def restore(self) -> None:
        """Read them from the store."""
        self._keep(await self._store.all())

    def named(self, name: str) -> T:
        """One of them; NotFound."""
        if name not in self._items:
            raise NotFound("operation_not_found", f"there is no {self._kind.word} {name[:80]!r}")
        return self._items[name]

    async def put(self, item: T, written: Written, *, new: bool = False) -> T:
        """Keep an item, in place of the one of that name.

        Args:
            new: Conflict when there is one already.

        Raises:
            Conflict: it is not what the writer has seen. Refused: there are too many. And what is
                wrong with it beside the others.
        """
        name = self._kind.name_of(item)
        async with self._writing:
            before = self._items.get(name)
            self._check(name, before, written, new=new)
            self._kind.together({**self._items, name: item})
            audit = self._entry("put", name, written, self._text(before), self._text(item))
            await self._store.put(name, item, audit, before)
            self._keep({**self._items, name: item})
        return item

    async def remove(self, name: str, written: Written) -> T:
        """Forget one; NotFound, Conflict."""
        async with self._writing:
            before = self.named(name)
            self._check(name, before, written, new=False)
            audit = self._entry("remove", name, written, self._text(before), "")
            await self._store.remove(name, audit)
            self._keep({key: one for key, one in self._items.items() if key != name})
        return before

    async def keep(self, item: T) -> T:
        """Store the next state of an item that the engine moves along; not audited."""
        name = self._kind.name_of(item)
        async with self._writing:
            await self._store.put(name, item)
            self._keep({**self._items, name: item})
        return item

    async def forget(self, name: str) -> None:
        """Drop an item of which nobody is told; not audited."""
        async with self._writing:
            await self._store.remove(name)
            self._keep({key: one for key, one in self._items.items() if key != name})

    def _keep(self, items: Mapping[str, T]) -> None:
        self._items = dict(sorted(items.items()))

    def _check(self, name: str, before: T | None, written: Written, *, new: bool) -> None:
        if new and before is not None:
            raise Conflict(
                "operation_exists", f"{self._kind.word} {name} exists: choose another name"
            )
        if written.expected is not None and (
            before is None or digest_of(before) != written.expected
        ):
            raise Conflict(
                "operation_changed",
                f"{self._kind.word} {name} is not what you have read: read it again and repeat",
            )
        if before is None and len(self._items) >= self._kind.most:
            raise Refused(
                "operations_full",
                f"there are {len(self._items)} of {self._kind.word}, at most {self._kind.most} "
                "may be: remove what is not needed",
            )

    def _entry(self, verb: str, name: str, written: Written, before: str, after: str) -> AuditEntry:
        return AuditEntry(
            time_s=self._now(),
            author=written.author.name,
            action=f"{self._kind.word}.{verb}",
            subject=f"{self._kind.word}/{name}",
            reason=written.reason,
            before=before,
            after=after,
        )

    def _text(self, item: T | None) -> str:
        return "" if item is None else self._kind.shown(item)[:4_000]


def digest_of(item: object) -> str:
    """What a reader gives back with a change, so that nothing is overwritten unseen."""
    return canonical.digest(canonical.encode(item))


def shown(item: object) -> str:
    """An item without secrets as text."""
    return canonical.encode(item).decode()
