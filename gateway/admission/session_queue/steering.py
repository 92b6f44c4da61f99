"""The size of the pool, period by period: what the agents see goes in, what the law says comes out.

Each agent tells what it has seen; one of them gets the period of all and decides, the others read
its note. One that dies in between costs one decision.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from controlplane.domain import canonical
from controlplane.domain.admission.session_queue.control import (
    Control,
    Period,
    at_start,
    controlled,
    whole,
)
from controlplane.domain.admission.session_queue.policy import SessionQueuePolicy
from controlplane.domain.errors import Invalid, Retryable
from gateway.admission.enforcing import Outcome
from gateway.admission.pool_figures import PoolFigures
from gateway.state.ports import Pools, PoolState, Sized, Times

log = structlog.get_logger()
# So often within a period it is asked whether it is over, that it is not much longer than it says.
TELLS = 8
SERVER_ERRORS = 500


@dataclass(slots=True, kw_only=True)
class Steering:
    """What one agent does for the size of one pool.

    Attributes:
        changed: called when more may be inside.
        figures: what it knows, for metrics.
        control: the newest that this agent knows of.
    """

    name: str
    policy: SessionQueuePolicy
    pools: Pools
    key: str
    changed: Callable[[], None]
    figures: PoolFigures = field(default_factory=PoolFigures)
    control: Control = field(init=False)
    _times: Times = field(default_factory=Times)

    def __post_init__(self) -> None:
        """Know nothing yet."""
        self.control = at_start(self.policy)

    def seen(self, outcome: Outcome) -> None:
        """An answer has ended."""
        if outcome.sent:
            failed = outcome.status == 0 or outcome.status >= SERVER_ERRORS
            self._add(Times(answers=1, failures=int(failed), total_s=outcome.took_s))

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await asyncio.sleep(self.policy.period_s / TELLS)
            try:
                await self.step()
            except Retryable:
                # Said and counted where requests fall back; what was seen is told later.
                continue

    async def step(self) -> None:
        """Tell what was seen, and decide when a period is over.

        Raises:
            Retryable: shared state is away.
        """
        times, self._times = self._times, Times()
        try:
            state = await self.pools.tell(self.key, times, self.policy.period_s)
        except Retryable:
            self._add(times)
            raise
        before = whole(self.control)
        self.control = self._noted(state)
        if state.ended is not None:
            await self._decide(state, state.ended)
        self._show(state)
        if whole(self.control) > before:
            self.changed()

    async def _decide(self, state: PoolState, period: Period) -> None:
        before = whole(self.control)
        control = controlled(self.policy, self.control, period)
        size, note = whole(control), canonical.encode(control)
        if not await self.pools.resize(self.key, Sized(size=size, note=note, number=state.number)):
            return
        self.control = control
        self.figures.resized(before, size)
        if size != state.size:
            log.info(
                "session_queue.sized",
                policy=self.name,
                size=size,
                before=state.size,
                mean_ms=round(period.total_s / max(1, period.answers) * 1_000, 1),
                answers=period.answers,
                failures=period.failures,
                inside=period.inside,
                waiting=period.waiting,
            )

    def _show(self, state: PoolState) -> None:
        self.figures.state = state
        self.figures.size = whole(self.control)
        self.figures.mean_ms = self.control.mean_ms

    def _noted(self, state: PoolState) -> Control:
        if not state.note:
            return at_start(self.policy)
        try:
            return canonical.decode(Control, state.note)
        except Invalid:
            # Of a version that wrote another note: it is made anew with the next decision.
            return self.control

    def _add(self, times: Times) -> None:
        mine = self._times
        self._times = Times(
            answers=mine.answers + times.answers,
            failures=mine.failures + times.failures,
            total_s=mine.total_s + times.total_s,
        )
