"""The few words in which operations ask for intents.

`engine.intents.intents` answers them through `Desk`; alerts, scenarios and changes know no more of
it.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from controlplane.domain.errors import ControlPlaneError
from controlplane.domain.intents.intent import Intent, Wanted
from controlplane.engine.intents.intents import Ask, Intents
from controlplane.engine.intents.plans import Forecast

# Intents of the past that a new process remembers: a rate limit counts them, and what a person
# has undone is not asked for again.
REMEMBERED = 200

Forecasted = tuple[Forecast, ControlPlaneError | None]


class IntentDesk(Protocol):
    """Who makes and takes back intents."""

    @property
    def known(self) -> Mapping[str, Intent]:
        """Those that stand, and those that ended lately, by id."""

    async def order(self, ask: Ask) -> Intent:
        """Make one at once; raises what says why not."""

    async def undo(self, intent_id: str, author: str, reason: str) -> Intent:
        """Take one back; Conflict when it is being taken back, or has ended."""

    async def forecast(self, ask: Ask, beside: Sequence[Wanted]) -> Forecasted:
        """What one would do after those beside it, and why it would be refused."""


class Desk:
    """IntentDesk on the register of intents."""

    def __init__(self, intents: Intents) -> None:
        self._intents = intents
        self._earlier: dict[str, Intent] = {}
        self._standing: tuple[Intent, ...] | None = None
        self._known: dict[str, Intent] = {}

    async def restore(self) -> None:
        """Remember what ended before this process."""
        self._earlier = {one.id: one for one in await self._intents.recent(REMEMBERED)}
        self._standing = None

    @property
    def known(self) -> Mapping[str, Intent]:
        """Those that stand, and those that ended lately, by id."""
        # Asked for each target several times a second; every change makes another tuple.
        standing = self._intents.standing
        if standing is not self._standing:
            self._standing = standing
            self._known = {**self._earlier, **{one.id: one for one in self._intents.known}}
        return self._known

    async def order(self, ask: Ask) -> Intent:
        """Make one at once."""
        return await self._intents.create(ask)

    async def undo(self, intent_id: str, author: str, reason: str) -> Intent:
        """Take one back."""
        return await self._intents.undo(intent_id, author, reason)

    async def forecast(self, ask: Ask, beside: Sequence[Wanted]) -> Forecasted:
        """What one would do after those beside it, and why it would be refused."""
        return await self._intents.dry_run(ask, beside)
