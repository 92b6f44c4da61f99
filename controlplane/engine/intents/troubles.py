"""What is wrong with intents: gateways that do not run one, targets that no fleet declares now,
and changes that are not stored.

Owned by `course`, which reports at each look.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence

from controlplane.domain.errors import NotFound
from controlplane.domain.findings import Observation, Severity, Source
from controlplane.domain.intents import rules
from controlplane.domain.intents.intent import Intent
from controlplane.domain.topology import Fleet
from controlplane.engine.intents.progress import Progress, progress
from controlplane.engine.intents.register import IntentRegister
from controlplane.engine.publishing.couriers import Courier
from controlplane.engine.stages import Instruments

SCOPE = "intents"
# A gateway that has not taken an intent by then is told of.
LATE_S = 10.0
ASK_S = 1.0


class IntentTroubles:
    """Keeps the findings about intents."""

    def __init__(
        self,
        register: IntentRegister,
        couriers: Sequence[Courier],
        fleet: Callable[[], Fleet],
        instruments: Instruments,
    ) -> None:
        self._register = register
        self._fleet = fleet
        self._couriers = couriers
        self._now = instruments.now
        self._findings = instruments.findings
        self._everywhere: set[int] = set()
        self._looked_s = float("-inf")
        self._late: tuple[Observation, ...] = ()

    async def report(self) -> None:
        """Say what is wrong now; planes are asked once in a while."""
        if not 0 <= self._now() - self._looked_s < ASK_S:
            self._looked_s = self._now()
            late = [one async for one in self._unfinished()]
            self._late = (*late, *self._aimless())
        unsaved = self._register.unsaved
        found = [_unsaved(unsaved)] if unsaved else []
        self._findings.report(Source.INTENTS, [*found, *self._late], scope=SCOPE)

    def _aimless(self) -> Iterator[Observation]:
        """Intents about what a later fleet has taken away or given another name."""
        for intent in self._register.standing:
            try:
                rules.check_target(intent.wanted, self._fleet())
            except NotFound as error:
                if intent.ending is None:
                    yield _without_target(intent, error)

    async def _unfinished(self) -> AsyncIterator[Observation]:
        """Intents that somebody does not run although there was time; each is asked until it is
        in force everywhere, because there may be thousands of gateways."""
        standing = self._register.standing
        self._everywhere &= {one.change for one in standing}
        for intent in standing:
            since_s = max(intent.created_s, intent.active_s or 0.0, intent.returning_s or 0.0)
            if intent.change in self._everywhere or 0 <= self._now() - since_s < LATE_S:
                continue
            late = [one for one in await progress(intent, self._couriers) if not one.complete]
            if late:
                yield _unpublished(intent, late)
            else:
                self._everywhere.add(intent.change)


def _unsaved(count: int) -> Observation:
    return Observation(
        code="intents_unsaved",
        subject="intents",
        message=f"{count} change(s) of intents are in force and not stored: the store is away; do "
        "not restart the control plane now, or what was ordered is gone and what was taken back or "
        "has expired stands again at first",
        severity=Severity.CRITICAL,
    )


def _unpublished(intent: Intent, late: Sequence[Progress]) -> Observation:
    told = "; ".join(
        f"{one.plane}: {one.done} of {one.nodes} have it, {', '.join(one.waiting)} not"
        for one in late
    )
    return Observation(
        code="intent_unpublished",
        subject=intent.subject,
        message=f"{intent.id} is not in force everywhere: {told}",
        held="what those gateways run",
        severity=Severity.CRITICAL,
    )


def _without_target(intent: Intent, error: NotFound) -> Observation:
    return Observation(
        code="intent_without_target",
        subject=intent.subject,
        message=f"{intent.id} of {intent.author} does nothing there: {error.message}. If it only "
        "has another name now, order it again under that; then undo this one",
        severity=Severity.WARNING,
    )
