"""The declared fleet: what it is now, what a change would do, and the change itself.

One place for REST and CLI. A change that removes or moves a large share is refused unless forced
(`guard`), one that makes a check of a route fail is held (`change`), and every change is audited
in the transaction that stores it, with the revisions of its routes.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from controlplane.domain import canonical
from controlplane.domain.access import AuditEntry, Principal
from controlplane.domain.admission.flash_sale.life import Correction
from controlplane.domain.decisions import Trigger
from controlplane.domain.errors import Conflict, Invalid, Refused
from controlplane.domain.routing.life.checks import HeldChange
from controlplane.domain.routing.life.revision import RouteRevision
from controlplane.domain.suspicion.limits import SuspicionLimits
from controlplane.domain.topology import Fleet
from controlplane.engine.fleet.change import (
    Edit,
    Judged,
    carried,
    judged,
    observations,
    revisions,
)
from controlplane.engine.fleet.difference import ChangeLine
from controlplane.engine.fleet.findings import FleetFindings
from controlplane.engine.fleet.generations import Generations
from controlplane.engine.fleet.guard import FleetGuard
from controlplane.engine.pokes import Pokes
from controlplane.engine.stages import Instruments
from controlplane.ports.stores import FleetStore, StoredFleet


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetChange:
    """A difference against the fleet in force.

    Attributes:
        generation: the one after the change.
        objection: why it would be refused unless forced; "" when it would not, or is made.
        held: changes of routes that are not made, because a check would fail, and of policies that
            could not be carried out.
    """

    generation: int
    lines: tuple[ChangeLine, ...]
    objection: str = ""
    held: tuple[HeldChange, ...] = ()


class Fleets:
    """The newest fleet in memory, changed by compare-and-set on its generation.

    Args:
        guard: judges changes; None knows nothing of what is published.
    """

    def __init__(
        self,
        store: FleetStore,
        pokes: Pokes,
        instruments: Instruments,
        guard: FleetGuard | None = None,
    ) -> None:
        self._guard = guard or FleetGuard(None, SuspicionLimits(), instruments)
        self._generations = Generations(store)
        self._pokes = pokes
        self._now = instruments.now
        self._findings = FleetFindings(instruments.findings)
        # Reviewed changes of frozen sales; `engine.operations.sales` has them.
        self.corrections: Callable[[], tuple[Correction, ...]] = tuple
        # One change at a time, each on top of the one before.
        self._changing = asyncio.Lock()

    @property
    def current(self) -> StoredFleet:
        """The fleet in force; empty, generation 0, before the first."""
        return self._generations.current

    @property
    def held(self) -> bool:
        """Whether nothing may be built from it, because a newer fleet was in force."""
        return self._guard.behind

    async def restore(self) -> None:
        """Read the newest fleet from the store; an older one than is known is not taken."""
        stored = await self._generations.read()
        if stored < self.current.generation:
            self._guard.store_behind(stored, self.current.generation)
        else:
            self._findings.in_force(self.current.fleet)

    def confirm(self, generation: int) -> None:
        """Hold what is published when it was built from a newer fleet than this one."""
        self._generations.known(generation)
        if self.current.generation < generation:
            self._guard.store_behind(self.current.generation, generation)

    def look(self) -> None:
        """What time changes: a refused change is forgotten after its time."""
        self._guard.look()

    async def plan(self, fleet: Fleet, expected_generation: int | None = None) -> FleetChange:
        """What `apply` would change; Conflict as there."""
        current, found = await self._judged(_documented(fleet), expected_generation)
        change = _change(current, found)
        if not change.lines:
            return change
        return replace(change, objection=self._guard.objection(current.fleet, found.fleet))

    async def apply(
        self,
        fleet: Fleet,
        author: Principal,
        reason: str = "",
        *,
        expected_generation: int | None = None,
        force: bool = False,
    ) -> FleetChange:
        """Make it the fleet in force.

        Args:
            expected_generation: the generation that the caller has seen; None takes the newest.
            force: also when the guard finds it suspicious; audited.

        Raises:
            Conflict: the fleet is no longer at `expected_generation`.
            Refused: too much would be removed, changed or moved and it is not forced.
        """
        edit = Edit(
            change=_documented(fleet),
            author=author,
            event="force_apply" if force else "apply",
            subject="fleet",
            reason=reason,
            expected_generation=expected_generation,
        )
        async with self._changing:
            return await self._apply(edit, force=force)

    async def _apply(self, edit: Edit, *, force: bool) -> FleetChange:
        current, found = await self._judged(edit.change, edit.expected_generation)
        self._findings.held(observations(found))
        if not found.lines:
            self._guard.unchanged()
            return _change(current, found)
        if not force:
            self._guard.check(current.fleet, found.fleet, edit.author)
        await self._put(current, found, replace(edit, subject=f"fleet@{current.generation + 1}"))
        self._guard.accepted()
        return _change(current, found)

    async def edit(self, edit: Edit, *, guarded: bool = False) -> FleetChange:
        """Change a few items by name; made whole or not at all.

        Args:
            guarded: whether it is judged like a file, because it may change many.

        Raises:
            Conflict: the fleet is no longer at the expected generation, if one is named.
            Refused: `route_check_failed`, or the guard refuses it.
        """
        async with self._changing:
            for last in (False, False, True):
                current, found = await self._judged(edit.change, edit.expected_generation)
                if found.held or found.invalid:
                    raise _failed(found)
                if not found.lines:
                    return _change(current, found)
                self._guard.check_store()
                if guarded:
                    self._guard.check(current.fleet, found.fleet, edit.author)
                try:
                    await self._put(current, found, edit)
                    self._findings.answered(edit.subject)
                except Conflict:
                    # Another writer was faster: on top of his fleet it may still be what is wanted.
                    if last or edit.expected_generation is not None:
                        raise
                else:
                    return _change(current, found)
        raise AssertionError("the last try returns or raises")

    async def _judged(
        self, change: Callable[[Fleet], Fleet], expected_generation: int | None
    ) -> tuple[StoredFleet, Judged]:
        """The fleet in force and the change to it; Conflict as `apply`."""
        while True:
            current = self._generations.expected(expected_generation)
            # Thousands of items take longer than the loop may be held up. Another change that was
            # made meanwhile is what this one has to be judged against; one that is under way is
            # found by the store.
            base = (current.fleet, self._now(), self.corrections())
            found = await asyncio.to_thread(_made, change, *base)
            if current is self.current:
                return current, found

    async def _put(self, current: StoredFleet, found: Judged, edit: Edit) -> None:
        """Store a change with its audit entry and revisions, and have it published."""
        generation = current.generation + 1
        now_s = self._now()
        audit = AuditEntry(
            time_s=now_s,
            author=edit.author.name,
            action=f"{edit.subject.partition('@')[0].partition('/')[0]}.{edit.event}",
            subject=edit.subject,
            reason=edit.reason,
            before=await asyncio.to_thread(_digest, current.fleet),
            after="; ".join(f"{line.kind} {line.subject}" for line in found.lines)[:4000],
        )
        entry = RouteRevision(
            route="",
            event=edit.event,
            author=edit.author.name,
            time_s=now_s,
            generation=generation,
            reason=edit.reason,
        )
        published = tuple(revisions(current.fleet, found, edit.event, entry))
        try:
            await self._generations.put(found.fleet, audit, published)
        except Conflict:
            # The caller is told, and reads the other writer's fleet from now on.
            self._pokes.poke(Trigger.OPERATOR)
            raise
        self._findings.in_force(self.current.fleet)
        self._pokes.poke(Trigger.OPERATOR)


def _documented(fleet: Fleet) -> Callable[[Fleet], Fleet]:
    """A document says nothing about drafts and releases: they stay."""
    return lambda current: replace(fleet, releases=carried(current, fleet))


def _made(
    change: Callable[[Fleet], Fleet],
    base: Fleet,
    now_s: float,
    corrections: tuple[Correction, ...],
) -> Judged:
    return judged(base, change(base), now_s, corrections)


def _digest(fleet: Fleet) -> str:
    return canonical.digest(canonical.encode(fleet))


def _change(current: StoredFleet, found: Judged) -> FleetChange:
    step = 1 if found.lines else 0
    invalid = [HeldChange(route=f"policy/{p.policy}", reason=p.reason) for p in found.invalid]
    return FleetChange(
        generation=current.generation + step, lines=found.lines, held=(*found.held, *invalid)
    )


def _failed(found: Judged) -> Refused | Invalid:
    if found.invalid:
        first = found.invalid[0]
        kind = Refused if first.code == "sale_frozen" else Invalid
        return kind(first.code, f"{first.reason}; nothing was changed")
    reasons = [one.reason for one in found.held]
    return Refused(
        "route_check_failed",
        f"{reasons[0]}: correct the route or the check; nothing was changed",
        {"checks": reasons},
    )
