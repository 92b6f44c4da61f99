"""How much of its traffic each place keeps under the intents that stand, at a time.

Called by `overlay` at each tick and by the engine for when to tick next. Of several intents about
one place the strictest counts, and a restore lifts those before it that it covers. When all places
of a service would be taken, the later word counts and the earlier ones are passed over.
Only one that was forced closes a service.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from controlplane.domain.failover.ramps import fallen, next_step, risen
from controlplane.domain.intents.intent import Intent, IntentKind, IntentState, Target

TAKING = frozenset({IntentKind.FAILOVER, IntentKind.DRAIN})


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """An intent that takes traffic from its target.

    Attributes:
        level: of the usual traffic, what the target keeps now, 0..1.
        begun: whether traffic moves already; before that only room is made for it.
        draining: whether a drain is on its way, so that sessions may stay where services keep them.
        forced: whether it may close a service that nobody else serves. Without force it was refused
            then; later a fleet may take everybody else away.
    """

    number: int
    target: Target
    level: float
    begun: bool = True
    draining: bool = False
    forced: bool = False

    @property
    def stands(self) -> bool:
        """Whether it takes anything, or is about to."""
        return self.level < 1 or not self.begun


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """What the data centres of one service keep.

    Attributes:
        levels: data centre -> level, 0..1, of those that are left or will be; the others keep all.
        closed: nobody is left who could serve it.
        counting: numbers of the removals that count here; passed: of those that give way.
    """

    levels: Mapping[str, float]
    closed: bool = False
    counting: frozenset[int] = frozenset()
    passed: frozenset[int] = frozenset()


def removals(intents: Iterable[Intent], now_s: float) -> tuple[Removal, ...]:
    """What is taken away at a time: the latest first, what is only being prepared last."""
    standing = [one for one in intents if one.standing]
    restores = [
        one
        for one in standing
        if one.kind is IntentKind.RESTORE and one.state is IntentState.ACTIVE
    ]
    found = [_removal(one, restores, now_s) for one in standing if one.kind in TAKING]
    return tuple(sorted(found, key=lambda one: (one.begun, one.number), reverse=True))


def presence(service: str, centers: Collection[str], taken: Iterable[Removal]) -> Presence:
    """What each data centre of a service keeps of its traffic.

    Args:
        centers: those with endpoints.
        taken: in the order of `removals`; parts of a data centre are passed over.
    """
    levels: dict[str, float] = {}
    counting: set[int] = set()
    passed: set[int] = set()
    closed = False
    for one in taken:
        target = one.target
        whole = not (target.cluster or target.endpoint)
        mine = target.service in ("", service) and target.datacenter in centers
        if not (mine and whole and one.stands):
            continue
        if target.datacenter not in levels and len(levels) + 1 >= len(centers):
            # Nobody would be left: the last word was taken, earlier ones give way to it.
            closes = len(centers) == 1 and one.forced
            closed = closed or (closes and one.level <= 0)
            (counting if closes else passed).add(one.number)
            continue
        counting.add(one.number)
        levels[target.datacenter] = min(one.level, levels.get(target.datacenter, 1.0))
    return Presence(
        levels=levels, closed=closed, counting=frozenset(counting), passed=frozenset(passed)
    )


def next_change(intents: Iterable[Intent], now_s: float) -> float | None:
    """When the next step of a ramp or the next expiry is due, UTC epoch seconds; None is never."""
    times: list[float] = []
    for one in intents:
        if not one.standing:
            continue
        if one.state is not IntentState.RETURNING and one.wanted.expires_s is not None:
            times.append(one.wanted.expires_s)
        if (ramp := _ramp(one)) is not None:
            whole_s, since_s = ramp
            if (step := next_step(whole_s, now_s - since_s)) is not None:
                times.append(now_s + step)
    return min(times, default=None)


def returned(intent: Intent, now_s: float) -> bool:
    """Whether the way back of an intent, or of what a restore brings back, is over."""
    ramp = _ramp(intent)
    return ramp is not None and now_s - ramp[1] >= ramp[0]


def _removal(intent: Intent, restores: Sequence[Intent], now_s: float) -> Removal:
    level = _level(intent, now_s)
    draining = _draining(intent, now_s)
    for restore in restores:
        if restore.number > intent.number and restore.target.covers(intent.target):
            since_s = restore.active_s or restore.created_s
            start = _level(intent, since_s)
            level = max(level, _back(start, restore.wanted.return_s, now_s - since_s))
            draining = False
    return Removal(
        number=intent.number,
        target=intent.target,
        level=level,
        begun=intent.state is not IntentState.PREPARING,
        draining=draining,
        forced=intent.wanted.force,
    )


def _level(intent: Intent, now_s: float) -> float:
    """What the target keeps by this intent alone."""
    if intent.active_s is None:
        return 1.0
    if intent.returning_s is None or now_s < intent.returning_s:
        return _left(intent, now_s)
    start = _left(intent, intent.returning_s)
    return _back(start, intent.wanted.return_s, now_s - intent.returning_s)


def _left(intent: Intent, now_s: float) -> float:
    since_s = now_s if intent.active_s is None else intent.active_s
    over_s = intent.wanted.over_s if intent.kind is IntentKind.DRAIN else 0.0
    return fallen(over_s, now_s - since_s)


def _draining(intent: Intent, now_s: float) -> bool:
    if intent.kind is not IntentKind.DRAIN or intent.state is not IntentState.ACTIVE:
        return False
    return intent.active_s is not None and now_s < intent.active_s + intent.wanted.over_s


def _back(start: float, whole_s: float, elapsed_s: float) -> float:
    return start + (1.0 - start) * risen(whole_s, elapsed_s)


def _ramp(intent: Intent) -> tuple[float, float] | None:
    """Length and beginning of the ramp that an intent is on; None without one."""
    if intent.state is IntentState.RETURNING:
        took = intent.kind in TAKING and intent.active_s is not None
        return (intent.wanted.return_s if took else 0.0), intent.returning_s or 0.0
    if intent.state is not IntentState.ACTIVE:
        return None
    if intent.kind is IntentKind.DRAIN:
        return intent.wanted.over_s, intent.active_s or 0.0
    if intent.kind is IntentKind.RESTORE:
        return intent.wanted.return_s, intent.active_s or 0.0
    return None
