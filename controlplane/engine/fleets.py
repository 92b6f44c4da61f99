"""The declared fleet: what it is now, what a change would do, and the change itself.

One place for REST and CLI. A change that removes or moves a large share is refused unless forced
(`engine.fleet_guard`), and every change is audited in the transaction that stores it.
"""

import asyncio
from dataclasses import dataclass, replace
from enum import StrEnum

from controlplane.domain import canonical
from controlplane.domain.access import AuditEntry, Principal
from controlplane.domain.decisions import Trigger
from controlplane.domain.errors import Conflict
from controlplane.domain.fleet_order import normalized
from controlplane.domain.suspicion.limits import SuspicionLimits
from controlplane.domain.topology import Fleet
from controlplane.engine.fleet_guard import FleetGuard
from controlplane.engine.pokes import Pokes
from controlplane.engine.stages import Instruments
from controlplane.ports.stores import FleetStore, StoredFleet


class ChangeKind(StrEnum):
    """What happens to one item."""

    ADD = "add"
    REMOVE = "remove"
    CHANGE = "change"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeLine:
    """One item of a difference; before and after are canonical JSON, "" when absent."""

    kind: ChangeKind
    subject: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetChange:
    """A difference against the fleet in force.

    Attributes:
        generation: the one after the change.
        objection: why it would be refused unless forced; "" when it would not, or is made.
    """

    generation: int
    lines: tuple[ChangeLine, ...]
    objection: str = ""


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
        self._store = store
        self._pokes = pokes
        self._now = instruments.now
        self._current = StoredFleet(fleet=Fleet(), generation=0)
        # The store's own count, and the newest that was ever in force: they differ after a store
        # came back older. A generation is never given twice.
        self._stored = 0
        self._known = 0

    @property
    def current(self) -> StoredFleet:
        """The fleet in force; empty, generation 0, before the first."""
        return self._current

    @property
    def held(self) -> bool:
        """Whether nothing may be built from it, because a newer fleet was in force."""
        return self._guard.behind

    async def restore(self) -> None:
        """Read the newest fleet from the store; an older one than is known is not taken."""
        stored = await self._store.load()
        self._stored = stored.generation
        if stored.generation < self._current.generation:
            self._guard.store_behind(stored.generation, self._current.generation)
        else:
            self._current = stored
        self._known = max(self._known, stored.generation)

    def confirm(self, generation: int) -> None:
        """Hold what is published when it was built from a newer fleet than this one."""
        self._known = max(self._known, generation)
        if self._current.generation < generation:
            self._guard.store_behind(self._current.generation, generation)

    def look(self) -> None:
        """What time changes: a refused change is forgotten after its time."""
        self._guard.look()

    async def plan(self, fleet: Fleet, expected_generation: int | None = None) -> FleetChange:
        """What `apply` would change; Conflict as there."""
        current, change = await self._compared(fleet, expected_generation)
        if not change.lines:
            return change
        return replace(change, objection=self._guard.objection(current.fleet, normalized(fleet)))

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
            Refused: too much would be removed or moved and it is not forced.
        """
        current, change = await self._compared(fleet, expected_generation)
        if not change.lines:
            self._guard.unchanged()
            return change
        if not force:
            self._guard.check(current.fleet, normalized(fleet), author)
        audit = AuditEntry(
            time_s=self._now(),
            author=author.name,
            action="fleet.force_apply" if force else "fleet.apply",
            subject=f"fleet@{change.generation}",
            reason=reason,
            before=canonical.digest(canonical.encode(current.fleet)),
            after="; ".join(f"{line.kind} {line.subject}" for line in change.lines)[:4000],
        )
        self._current = await self._replace(normalized(fleet), audit)
        self._known = self._stored = self._current.generation
        self._guard.accepted()
        self._pokes.poke(Trigger.OPERATOR)
        return change

    async def _compared(
        self, fleet: Fleet, expected_generation: int | None
    ) -> tuple[StoredFleet, FleetChange]:
        """The fleet in force and the difference to it; Conflict as `apply`."""
        while True:
            current = self._expected(expected_generation)
            # Thousands of items take longer than the loop may be held up. Another change that was
            # made meanwhile is what this one has to be judged against; one that is under way is
            # found by the store.
            change = await asyncio.to_thread(_difference, current, fleet)
            if current is self._current:
                return current, change

    async def _replace(self, fleet: Fleet, audit: AuditEntry) -> StoredFleet:
        """Store the next generation, on top of what the store has now."""
        try:
            return await self._store.replace(fleet, self._stored, audit, after=self._known)
        except Conflict:
            stored = await self._store.load()
            if stored.generation > self._stored and stored.fleet == fleet:
                # An earlier try was committed after its deadline: it is what was wanted.
                return stored
            if stored.generation >= self._stored:
                # Another writer was faster: the caller is told, and reads its fleet from now on.
                self._current, self._known = stored, max(self._known, stored.generation)
                self._stored = stored.generation
                self._pokes.poke(Trigger.OPERATOR)
                raise
            # An older copy was restored under us. What is in force here is whole, so it goes on.
            self._stored = stored.generation
            return await self._store.replace(fleet, self._stored, audit, after=self._known)

    def _expected(self, generation: int | None) -> StoredFleet:
        """The fleet in force; Conflict when the caller has seen another one."""
        current = self._current
        if generation is not None and generation != current.generation:
            raise Conflict(
                "fleet_changed",
                f"the fleet is at generation {current.generation}, not {generation}: "
                "export it, merge, and apply again",
                {"generation": current.generation},
            )
        return current


def _difference(current: StoredFleet, wanted: Fleet) -> FleetChange:
    before, after = _items(current.fleet), _items(normalized(wanted))
    lines = [_line(s, before.get(s, ""), after.get(s, "")) for s in sorted({*before, *after})]
    changed = tuple(line for line in lines if line is not None)
    step = 1 if changed else 0
    return FleetChange(generation=current.generation + step, lines=changed)


def _items(fleet: Fleet) -> dict[str, str]:
    """Subject -> canonical text of everything declared."""
    members: dict[str, object] = {
        **{f"datacenter/{center.name}": center for center in fleet.datacenters},
        **{f"pool/{pool.name}": pool for pool in fleet.pools},
        **{f"service/{service.name}": service for service in fleet.services},
        **{f"gateway/{gateway.name}": gateway for gateway in fleet.gateways},
        **{f"route/{route.id}": route for route in fleet.routes},
        **{f"whitelist/{whitelist.id}": whitelist for whitelist in fleet.whitelists},
        **{f"l4_route/{route.id}": route for route in fleet.l4_routes},
        **{f"caller/{policy.name}": policy for policy in fleet.callers},
        **{f"consumer/{consumer.name}": consumer for consumer in fleet.consumers},
        **{f"certificate/{one.name}": one for one in fleet.certificates},
        **{f"zone/{zone.name}": zone for zone in fleet.zones},
        **{f"source/{source.name}": source for source in fleet.metric_sources},
    }
    return {subject: canonical.encode(member).decode() for subject, member in members.items()}


def _line(subject: str, before: str, after: str) -> ChangeLine | None:
    if before == after:
        return None
    kind = ChangeKind.CHANGE
    if not before:
        kind = ChangeKind.ADD
    elif not after:
        kind = ChangeKind.REMOVE
    return ChangeLine(kind=kind, subject=subject, before=before, after=after)
