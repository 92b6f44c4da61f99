"""The store's care in memory, for tests of what watches over it."""

from dataclasses import dataclass, field

from controlplane.domain.errors import Retryable
from controlplane.ports.stores import FILES_GONE
from tests.fakes.stores import Outage


@dataclass(slots=True)
class MemoryStoreCare:
    """Away with the switch, or because its files are gone; `put_back` brings them back."""

    outage: Outage = field(default_factory=Outage)
    gone: bool = False
    put_backs: int = 0

    async def probe(self) -> None:
        self.outage.check()
        if self.gone:
            raise Retryable("store_unavailable", "its file is gone", {"reason": FILES_GONE})

    async def put_back(self) -> None:
        self.outage.check()
        self.gone = False
        self.put_backs += 1
