"""The generations of the fleet: the one in force in memory, beside what the store has.

Owned by `fleets`. Both differ after a store came back older: what is in force here is whole, so it
goes on, and a generation is never given twice.
"""

from collections.abc import Sequence

from controlplane.domain.access import AuditEntry
from controlplane.domain.errors import Conflict
from controlplane.domain.routing.life.revision import RouteRevision
from controlplane.domain.topology import Fleet
from controlplane.ports.stores import FleetStore, StoredFleet


class Generations:
    """Empty, generation 0, before the first fleet.

    Attributes:
        current: the fleet in force.
    """

    def __init__(self, store: FleetStore) -> None:
        self._store = store
        self._stored = 0
        self._newest = 0
        self.current = StoredFleet(fleet=Fleet(), generation=0)

    async def read(self) -> int:
        """Take the store's fleet unless it is older than the one in force; its generation."""
        stored = await self._store.load()
        self._stored = stored.generation
        if stored.generation >= self.current.generation:
            self.current = stored
        self.known(stored.generation)
        return stored.generation

    def known(self, generation: int) -> None:
        """One of this number was in force; the next one comes after it."""
        self._newest = max(self._newest, generation)

    def expected(self, generation: int | None) -> StoredFleet:
        """The fleet in force; Conflict when the caller has seen another one."""
        current = self.current
        if generation is not None and generation != current.generation:
            raise Conflict(
                "fleet_changed",
                f"the fleet is at generation {current.generation}, not {generation}: "
                "export it, merge, and apply again",
                {"generation": current.generation},
            )
        return current

    async def put(
        self, fleet: Fleet, audit: AuditEntry, revisions: Sequence[RouteRevision]
    ) -> None:
        """Store the next generation on top of what the store has now, and put it in force.

        Raises:
            Conflict: another writer was faster; its fleet is in force now.
        """
        try:
            self.current = await self._append(fleet, audit, revisions)
        except Conflict:
            stored = await self._store.load()
            if stored.generation > self._stored and stored.fleet == fleet:
                # An earlier try was committed after its deadline: it is what was wanted.
                self.current = stored
            elif stored.generation >= self._stored:
                self.current, self._stored = stored, stored.generation
                self.known(stored.generation)
                raise
            else:
                # An older copy was restored under us.
                self._stored = stored.generation
                self.current = await self._append(fleet, audit, revisions)
        self._newest = self._stored = self.current.generation

    async def _append(
        self, fleet: Fleet, audit: AuditEntry, revisions: Sequence[RouteRevision]
    ) -> StoredFleet:
        return await self._store.replace(
            fleet, self._stored, audit, after=self._newest, revisions=revisions
        )
