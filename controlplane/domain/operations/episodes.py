"""Episodes: what the firing alerts ask for at each target, and what has come of it.

An episode of a target begins with the first alert that a policy listens to, and ends with the last.
It holds at most one intent, whatever the number of alerts: a storm on one target is one episode.
Pure; `engine.operations.alerts` keeps the alerts, orders and ends.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from controlplane.domain.intents.intent import Ending, Intent, Wanted
from controlplane.domain.intents.scope import POLICY_PREFIX
from controlplane.domain.operations.alert_policies import AlertPolicy, Mode, OnResolve
from controlplane.domain.operations.alerts import Alert
from controlplane.domain.operations.listening import Match

# Alerts of one target that an episode names; more are as good as so many.
MOST_NAMED = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What one alert asks for by one policy; `heard_s` is when the alert was last told."""

    policy: str
    wanted: Wanted
    alert: str
    heard_s: float
    due_s: float

    @property
    def target(self) -> str:
        """Of an episode: the intent's target as words."""
        return self.wanted.target.subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """The alerts of one target and the intent that they led to.

    Attributes:
        alerts: fingerprints of those that fire, in order.
        intent: id of the newest intent that it ordered; "" is none yet.
        heard_s: when one of its alerts was told last; tried_s: when an intent was asked for last.
        words: why there is no intent; "" when there is one, or none was tried yet.
    """

    target: str
    policy: str
    wanted: Wanted
    began_s: float
    heard_s: float
    alerts: tuple[str, ...] = ()
    intent: str = ""
    tried_s: float | None = None
    words: str = ""


class Step(StrEnum):
    """What is to be done about an episode."""

    ORDER = "order"
    PROPOSE = "propose"
    LIMIT = "limit"
    REST = "rest"
    END = "end"
    CLOSE = "close"


def author_of(policy: str) -> str:
    """Who a policy's intents are by."""
    return f"{POLICY_PREFIX}{policy}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A firing alert, and when it was told first and last, UTC epoch seconds."""

    alert: Alert
    first_s: float
    last_s: float


def asks_of(found: Match, heard: Heard) -> tuple[Ask, ...]:
    """What an alert asks for, and when, by each policy that listens."""
    return tuple(
        Ask(
            policy=policy.name,
            wanted=wanted,
            alert=heard.alert.fingerprint,
            heard_s=heard.last_s,
            due_s=heard.first_s + policy.hold_s,
        )
        for policy, wanted in found.orders
    )


def gathered(
    asks: Iterable[Ask], episodes: Mapping[str, Episode], now_s: float
) -> dict[str, Episode]:
    """The episodes that the asks make; those that were there before go on.

    An ask that is not due yet begins nothing. Of several policies the first by name counts, unless
    the episode has begun with another one.
    """
    by_target: dict[str, list[Ask]] = {}
    for ask in asks:
        if ask.due_s <= now_s or ask.target in episodes:
            by_target.setdefault(ask.target, []).append(ask)
    return {
        target: _episode(found, episodes.get(target), now_s)
        for target, found in sorted(by_target.items())
    }


def _episode(asks: Sequence[Ask], before: Episode | None, now_s: float) -> Episode:
    names = tuple(sorted({ask.alert for ask in asks})[:MOST_NAMED])
    heard_s = max(ask.heard_s for ask in asks)
    if before is not None and any(ask.policy == before.policy for ask in asks):
        return replace(before, alerts=names, heard_s=heard_s)
    first = min(asks, key=lambda ask: ask.policy)
    if before is not None:
        # Its policy listens no more and another one takes over: still one intent for the target.
        return replace(before, policy=first.policy, alerts=names, heard_s=heard_s)
    return Episode(
        target=first.target,
        policy=first.policy,
        wanted=first.wanted,
        began_s=now_s,
        heard_s=heard_s,
        alerts=names,
    )


def step_of(
    episode: Episode, policy: AlertPolicy | None, intent: Intent | None, *, room: bool, asked: bool
) -> Step:
    """What is to be done now.

    Args:
        policy: None when it was removed: its episode rests until its alerts are over.
        intent: the one that the episode ordered, or that stands for its target already.
        room: whether the policy's limit leaves room for one more.
        asked: whether an alert of it still fires.
    """
    # What is on its way back no longer speaks for the target: traffic comes to it.
    standing = intent is not None and intent.standing and intent.ending is None
    if not asked:
        ends = standing and policy is not None and policy.on_resolve is OnResolve.END
        return Step.END if ends and episode.intent else Step.CLOSE
    if standing or policy is None or _is_done(episode, intent):
        return Step.REST
    if policy.mode is Mode.PROPOSE:
        return Step.PROPOSE
    return Step.ORDER if room else Step.LIMIT


def room_left(policy: AlertPolicy, intents: Iterable[Intent], now_s: float) -> bool:
    """Whether one more intent of the policy is within its rate limit."""
    author = author_of(policy.name)
    recent = sum(
        1 for one in intents if one.author == author and one.created_s > now_s - policy.per_s
    )
    return recent < policy.most


def _is_done(episode: Episode, intent: Intent | None) -> bool:
    """What was taken back stays so while the alerts go on: whoever undid it meant it.

    One that has only expired is asked for again when an alert is told again after that, also while
    it is on its way back.
    """
    if not episode.intent or intent is None:
        return False
    over_s = intent.ended_s if intent.returning_s is None else intent.returning_s
    return not (intent.ending is Ending.EXPIRED and over_s is not None and episode.heard_s > over_s)
