"""Intents: made, shown, taken back, and moved along as time passes.

An operator's call is judged, stored, and published at once, ahead of whatever the loop does. Each
change is numbered and audited; `course` does what time brings.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import structlog

from controlplane.domain.errors import ControlPlaneError
from controlplane.domain.intents import rules
from controlplane.domain.intents.intent import (
    Intent,
    IntentEvent,
    IntentKind,
    IntentState,
    Wanted,
    advanced,
    intent_id,
)
from controlplane.domain.intents.presence import TAKING
from controlplane.domain.intents.scope import by_automation
from controlplane.domain.snapshot import Content
from controlplane.engine.intents.course import IntentCourse, IntentParts, IntentTimes
from controlplane.engine.intents.facts import Facts
from controlplane.engine.intents.plans import Forecast, forecast, moves, planned
from controlplane.engine.intents.progress import Progress
from controlplane.engine.stages import Instruments
from controlplane.ports.outside import PlaneNode

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One call.

    Attributes:
        expected: number of the register's newest change that the caller has seen; None is any.
        automatic: nobody can be asked what to do without room; bounded by `most_centers`.
        cause: what made it, when no person did.
        replaces: ids of standing ones that it takes the place of, in the same change: nothing is
            published without either.
    """

    wanted: Wanted
    author: str
    expected: int | None = None
    automatic: bool = False
    cause: str = ""
    replaces: frozenset[str] = frozenset()


class Intents:
    """Everything that is done with intents.

    Attributes:
        course: what time brings.
        times: how long what takes unless its author says otherwise.
        most_centers: data centres that automation may leave without traffic at once.
        made: intents since the start, by kind.
    """

    def __init__(
        self,
        parts: IntentParts,
        instruments: Instruments,
        times: IntentTimes | None = None,
        most_centers: int = 1,
    ) -> None:
        self._parts = parts
        self._register = parts.register
        self._now = instruments.now
        self.times = times or IntentTimes()
        self.most_centers = most_centers
        self.made: Counter[IntentKind] = Counter()
        self.course = IntentCourse(parts, instruments, self.times)

    @property
    def standing(self) -> tuple[Intent, ...]:
        """Those that have not ended, by number."""
        return self._register.standing

    @property
    def known(self) -> tuple[Intent, ...]:
        """Those that stand, and those that ended lately in this process, by number."""
        return self._register.known

    @property
    def unsaved(self) -> int:
        """Changes that are in force and that the store does not have yet."""
        return self._register.unsaved

    @property
    def change(self) -> int:
        """Number of the newest change."""
        return self._register.change

    async def restore(self) -> None:
        """Take up what stood when the last process ended."""
        await self._register.restore()

    async def by_id(self, name: str) -> Intent:
        """One intent, standing or ended; NotFound."""
        return await self._register.by_id(name)

    async def recent(self, limit: int, before: int | None = None) -> list[Intent]:
        """The latest made first."""
        return await self._register.recent(limit, before)

    async def progress(self, intent: Intent) -> tuple[Progress, ...]:
        """How far it is on each data plane."""
        return await self.course.progress(intent)

    async def dry_run(
        self, ask: Ask, beside: Sequence[Wanted] = ()
    ) -> tuple[Forecast, ControlPlaneError | None]:
        """What an intent would do, and why it would be refused.

        Args:
            beside: what is asked with it, and done before.

        Raises:
            Invalid, NotFound: it cannot be judged at all.
        """
        intent, facts = await self._asked(ask)
        before = [
            replace(
                (await self._asked(Ask(wanted=one, author=ask.author)))[0],
                number=intent.number + 1 + place,
                active_s=-math.inf,
            )
            for place, one in enumerate(beside)
        ]
        standing = (*self._left(ask), *before)
        made = await asyncio.to_thread(forecast, intent, standing, facts)
        moving = await asyncio.to_thread(moves, intent, standing, facts)
        made = replace(made, moves=moving)
        try:
            self._judge(ask, made, facts)
        except ControlPlaneError as error:
            return made, error
        return made, None

    async def create(self, ask: Ask) -> Intent:
        """Make an intent, and have it published at once.

        Raises:
            Invalid, NotFound: it lacks something, or its target is not declared.
            Refused: nobody else can serve, there is no room, it is structural, or automation has
                reached its limit.
            Conflict: the register is not at `expected`, or the same stands already.
            Retryable: the store is away and it is none that moves traffic away.
        """
        async with self.course.changing:
            self._register.expect(ask.expected)
            await self.course.keep_time()
            bare, facts = await self._asked(ask)
            if ask.automatic:
                rules.check_automation(ask.wanted, self.standing, self.most_centers)
            made = await asyncio.to_thread(forecast, bare, self._left(ask), facts)
            self._judge(ask, made, facts)
            intent = _begun(planned(bare, made, facts.content))
            event = f"force_{intent.kind}" if ask.wanted.force else intent.kind.value
            entry = self.course.entry(intent, ask.author, event, ask.wanted.reason)
            gone = [
                advanced(one, IntentEvent.REPLACE, intent.created_s, intent.change)
                for one in self.standing
                if one.id in ask.replaces and one.ending is None
            ]
            entries = [
                entry,
                *(self.course.entry(one, ask.author, IntentEvent.REPLACE, "") for one in gone),
            ]
            await self._register.put([intent, *gone], entries, at_once=intent.kind in TAKING)
        self.made[intent.kind] += 1
        log.info("intent.created", id=intent.id, target=intent.target.subject, author=ask.author)
        self.course.hurry()
        return intent

    async def undo(
        self,
        name: str,
        author: str,
        reason: str = "",
        *,
        expected: int | None = None,
        return_s: float | None = None,
    ) -> Intent:
        """Take an intent back; what it took away returns over `return_s`, None is as it was asked.

        Raises:
            NotFound: there is none.
            Conflict: it has ended or is on its way back, or the register is not at `expected`.
            Retryable: the store is away, and automation asks or it is none that stands.
        """
        async with self.course.changing:
            self._register.expect(expected)
            await self.course.keep_time()
            intent = await self._register.by_id(name)
            if return_s is not None:
                intent = replace(intent, wanted=replace(intent.wanted, return_s=return_s))
            undone = advanced(intent, IntentEvent.UNDO, self._now(), self.change + 1)
            rules.check_shape(replace(undone.wanted, expires_s=None), self._now())
            entry = self.course.entry(undone, author, IntentEvent.UNDO, reason)
            # A wrong order that needed no store must not stand until there is one. What automation
            # brings back can wait: after a restart it would be taken away once more.
            await self._register.put([undone], [entry], at_once=not by_automation(author))
        log.info("intent.undone", id=undone.id, author=author)
        self.course.hurry()
        return undone

    async def _asked(self, ask: Ask) -> tuple[Intent, Facts]:
        """The intent as it would be, and what it is judged by."""
        now_s, number = self._now(), self.change + 1
        fleet = self._parts.fleets.current.fleet
        rules.check_shape(ask.wanted, now_s)
        rules.check_target(ask.wanted, fleet)
        intent = Intent(
            id=intent_id(ask.wanted.kind, number),
            number=number,
            wanted=ask.wanted,
            author=ask.author,
            created_s=now_s,
            change=number,
            cause=ask.cause,
        )
        nodes = [node for courier in self._parts.couriers for node in await courier.nodes()]
        facts = Facts(
            fleet=fleet,
            content=self.course.content,
            earlier=await self._earlier(ask.wanted),
            window=self._parts.window,
            down=self._parts.standing.down,
            gateways=max(1, gateways(nodes)),
            fresh_s=self.times.fresh_s,
            now_s=now_s,
            out=self._parts.standing.out(),
        )
        return intent, facts

    async def _earlier(self, wanted: Wanted) -> dict[int, Content]:
        """Contents of the rollbacks that stand, and of the one that is asked for; NotFound."""
        earlier = dict(self._parts.standing.earlier)
        if wanted.kind is IntentKind.ROLLBACK and wanted.revision not in earlier:
            snapshot = await self._parts.snapshots.at(wanted.revision)
            earlier[wanted.revision] = snapshot.content
        return earlier

    def _left(self, ask: Ask) -> tuple[Intent, ...]:
        """What stands beside the intent that is asked for."""
        return tuple(one for one in self.standing if one.id not in ask.replaces)

    def _judge(self, ask: Ask, made: Forecast, facts: Facts) -> None:
        """Raise why it may not be: Refused or Conflict."""
        wanted = ask.wanted
        rules.check_alone(wanted, self._left(ask))
        if wanted.kind is IntentKind.RESTORE:
            rules.check_restorable(wanted, self.standing)
        if wanted.kind is IntentKind.ROLLBACK:
            rules.check_structure(wanted, facts.content, facts.earlier[wanted.revision])
        if wanted.kind in TAKING or made.shut:
            rules.check_room(wanted, made.plan, automatic=ask.automatic)


def _begun(intent: Intent) -> Intent:
    """Load moves at once, or when the admission of its plan is in force."""
    if intent.limits:
        return replace(intent, state=IntentState.PREPARING)
    return replace(intent, state=IntentState.ACTIVE, active_s=intent.created_s)


def gateways(nodes: Iterable[PlaneNode]) -> int:
    """How many connected gateways share a limit; an agent beside an Envoy is the same gateway."""
    # An agent is its Envoy's name and a word; no name has a space in it.
    return len({(one.group, one.name.partition(" ")[0]) for one in nodes if one.connected})
