"""A register of intents in memory that does at once what it is asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from controlplane.domain.errors import ControlPlaneError
from controlplane.domain.failover.plan import plan
from controlplane.domain.intents.intent import (
    Ending,
    Intent,
    IntentEvent,
    IntentState,
    Wanted,
    advanced,
    intent_id,
)
from controlplane.engine.intents.intents import Ask
from controlplane.engine.intents.plans import Forecast
from controlplane.engine.operations.intent_desk import Forecasted
from tests.engine.rig import Clock


@dataclass(slots=True)
class MemoryDesk:
    """`refusals` are raised in turn; `orders` keeps every call that was made."""

    clock: Clock
    intents: dict[str, Intent] = field(default_factory=dict)
    refusals: list[ControlPlaneError | None] = field(default_factory=list)
    orders: list[tuple[Wanted, str, str]] = field(default_factory=list)
    undone: list[str] = field(default_factory=list)
    forecasts: list[tuple[Wanted, tuple[Wanted, ...]]] = field(default_factory=list)
    change: int = 0

    @property
    def known(self) -> Mapping[str, Intent]:
        return self.intents

    async def order(self, ask: Ask) -> Intent:
        self.orders.append((ask.wanted, ask.author, ask.cause))
        self._refuse()
        self.change += 1
        made = Intent(
            id=intent_id(ask.wanted.kind, self.change),
            number=self.change,
            wanted=ask.wanted,
            author=ask.author,
            created_s=self.clock.now(),
            change=self.change,
            cause=ask.cause,
            published=self.change,
        )
        self.intents[made.id] = made
        for one in ask.replaces:
            self.end(one, Ending.REPLACED)
        return made

    async def make(self, wanted: Wanted, author: str = "anna") -> Intent:
        """By a person."""
        return await self.order(Ask(wanted=wanted, author=author))

    async def undo(self, intent_id: str, author: str, reason: str) -> Intent:
        self._refuse()
        self.change += 1
        back = advanced(self.intents[intent_id], IntentEvent.UNDO, self.clock.now(), self.change)
        self.change += 1
        self.intents[intent_id] = advanced(
            back, IntentEvent.RETURNED, self.clock.now(), self.change
        )
        self.undone.append(intent_id)
        return self.intents[intent_id]

    async def forecast(self, ask: Ask, beside: Sequence[Wanted]) -> Forecasted:
        self.forecasts.append((ask.wanted, tuple(beside)))
        nothing = plan((), {})
        return Forecast(plan=nothing, moves=(), loads=(), limits=()), None

    def end(self, name: str, ending: Ending) -> None:
        """What time or a person does."""
        self.change += 1
        self.intents[name] = replace(
            self.intents[name],
            state=IntentState.ENDED,
            ending=ending,
            ended_s=self.clock.now(),
            change=self.change,
        )

    def return_again(self, name: str) -> None:
        """Let one that was taken back be still on its way."""
        self.intents[name] = replace(self.intents[name], state=IntentState.RETURNING, ended_s=None)

    @property
    def standing(self) -> list[str]:
        return [one.id for one in self.intents.values() if one.standing]

    def _refuse(self) -> None:
        if self.refusals and (refusal := self.refusals.pop(0)) is not None:
            raise refusal
