"""The declared fleet: what it is now, what a change would do, and the change itself.

One place for REST and CLI. A change that removes a large share is refused unless forced, and
every change is audited in the transaction that stores it.
"""

import asyncio
from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain import canonical
from controlplane.domain.access import AuditEntry, Principal
from controlplane.domain.decisions import Trigger
from controlplane.domain.errors import Conflict, Refused
from controlplane.domain.topology import Fleet, normalized
from controlplane.engine.pokes import Pokes
from controlplane.engine.stages import Instruments
from controlplane.ports import FleetStore, StoredFleet

# Law 4: a change that removes more of one kind than this is suspicious (share, 0..1).
MOST_REMOVED = 0.30


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
    """A difference against the fleet in force; `generation` is the one after the change."""

    generation: int
    lines: tuple[ChangeLine, ...]


class Fleets:
    """The newest fleet in memory, changed by compare-and-set on its generation."""

    def __init__(self, store: FleetStore, pokes: Pokes, instruments: Instruments) -> None:
        self._store = store
        self._pokes = pokes
        self._now = instruments.now
        self._current = StoredFleet(fleet=Fleet(), generation=0)

    @property
    def current(self) -> StoredFleet:
        """The fleet in force; empty, generation 0, before the first."""
        return self._current

    async def restore(self) -> None:
        """Read the newest fleet from the store."""
        self._current = await self._store.load()

    async def plan(self, fleet: Fleet, expected_generation: int | None = None) -> FleetChange:
        """What `apply` would change; Conflict as there."""
        current = self._expected(expected_generation)
        return await asyncio.to_thread(_difference, current, fleet)

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
            force: allow removing more than `MOST_REMOVED` of one kind; audited.

        Raises:
            Conflict: the fleet is no longer at `expected_generation`.
            Refused: too much would be removed and it is not forced.
        """
        current = self._expected(expected_generation)
        # Thousands of items take longer than the loop may be held up; should the fleet change
        # meanwhile, the store refuses this one.
        change = await asyncio.to_thread(_difference, current, fleet)
        if not change.lines:
            return change
        if not force:
            _refuse_mass_removal(current.fleet, fleet)
        audit = AuditEntry(
            time_s=self._now(),
            author=author.name,
            action="fleet.force_apply" if force else "fleet.apply",
            subject=f"fleet@{change.generation}",
            reason=reason,
            before=canonical.digest(canonical.encode(current.fleet)),
            after="; ".join(f"{line.kind} {line.subject}" for line in change.lines)[:4000],
        )
        self._current = await self._store.replace(normalized(fleet), current.generation, audit)
        self._pokes.poke(Trigger.OPERATOR)
        return change

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


def _refuse_mass_removal(current: Fleet, wanted: Fleet) -> None:
    """Law 4: each kind on its own, endpoints counted one by one."""
    before, after = _members(current), _members(wanted)
    for kind, members in before.items():
        removed = sorted(members - after[kind])
        if members and len(removed) / len(members) > MOST_REMOVED:
            raise Refused(
                "mass_removal",
                f"this removes {len(removed)} of {len(members)} {kind}, more than "
                f"{MOST_REMOVED:.0%}: check the file, or force it",
                {"removed": removed[:50], "limit": MOST_REMOVED, "force": "force=true"},
            )


def _members(fleet: Fleet) -> dict[str, set[str]]:
    return {
        "data centers": {center.name for center in fleet.datacenters},
        "pools": {pool.name for pool in fleet.pools},
        "services": {service.name for service in fleet.services},
        "gateways": {gateway.name for gateway in fleet.gateways},
        "routes": {route.id for route in fleet.routes},
        "metric sources": {source.name for source in fleet.metric_sources},
        "endpoints": {
            f"{service.name} {cluster.datacenter} {endpoint.address}:{endpoint.port}"
            for service in fleet.services
            for cluster in service.clusters
            for endpoint in cluster.endpoints
        },
    }
