"""What fires now, and what each alert asks for by the policies in force.

Owned by `alerts`. Bounded: a storm with more different alerts than `MOST_ALERTS` is cut, and
counted; those that are kept are enough to begin its episodes. One that asks for something takes
the room of one that asks for nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from controlplane.domain.findings import Finding, Observation, Source
from controlplane.domain.operations.alert_policies import AlertPolicy
from controlplane.domain.operations.alerts import Alert, Origin, alert_of
from controlplane.domain.operations.episodes import Ask, Episode, Heard, asks_of

# A thousand targets with ten alerts each.
MOST_ALERTS = 10_000
# Characters of all labels and words: what ten thousand of the usual size have several times over.
MOST_TEXT = 50_000_000
# Alertmanager repeats what fires; its longest usual interval is a day.
FORGET_S = 2 * 86_400.0
# A finding has this long to appear again after a restart, before its episode is over.
GRACE_S = 60.0

Key = tuple[Origin, str]


@dataclass(slots=True)
class _Kept:
    """What is known of a firing alert; `heard` is None for one of before a restart."""

    asks: tuple[Ask, ...]
    heard: Heard | None = None
    wrong: tuple[Observation, ...] = ()
    text: int = 0


class Firing:
    """The alerts that fire. `dropped` counts those that had no room."""

    def __init__(self) -> None:
        self._kept: dict[Key, _Kept] = {}
        # Those that ask for nothing, the earliest first.
        self._idle: dict[Key, None] = {}
        self._policies: Mapping[str, AlertPolicy] = {}
        self._restored_s = 0.0
        self._text = 0
        self.dropped = 0

    @property
    def heard(self) -> list[Heard]:
        """All that were told since the start, the latest first."""
        heard = (kept.heard for kept in self._kept.values() if kept.heard is not None)
        return sorted(heard, key=lambda one: (-one.first_s, one.alert.fingerprint))

    @property
    def asks(self) -> list[Ask]:
        """What they ask for."""
        return [ask for kept in self._kept.values() for ask in kept.asks]

    @property
    def wrong(self) -> list[Observation]:
        """What is wrong with those that ask for nothing, once each."""
        found = {(w.subject, w.code): w for kept in self._kept.values() for w in kept.wrong}
        return list(found.values())

    def restore(self, episodes: Iterable[Episode], now_s: float) -> None:
        """Let the alerts of earlier episodes fire until they are told over."""
        self._restored_s = now_s
        for episode in episodes:
            policy = self._policies.get(episode.policy)
            origin = Origin.ALERTMANAGER if policy is None else policy.origin
            for fingerprint in episode.alerts:
                ask = Ask(
                    policy=episode.policy,
                    wanted=episode.wanted,
                    alert=fingerprint,
                    heard_s=episode.heard_s,
                    due_s=episode.began_s,
                )
                kept = self._kept.setdefault((origin, fingerprint), _Kept(asks=()))
                kept.asks = (*kept.asks, ask)

    def renew(self, policies: Mapping[str, AlertPolicy]) -> None:
        """After a change of policies ask anew what every alert wants."""
        if self._policies is policies:
            return
        self._policies = policies
        for key, kept in self._kept.items():
            if kept.heard is not None:
                kept.asks, kept.wrong = asks_of(tuple(policies.values()), kept.heard)
                self._sort(key, kept)

    def hear(self, alert: Alert, now_s: float) -> bool:
        """Keep a firing alert; False when there are too many."""
        key = (alert.origin, alert.fingerprint)
        kept = self._kept.get(key)
        first_s = now_s if kept is None or kept.heard is None else kept.heard.first_s
        heard = Heard(alert=alert, first_s=first_s, last_s=now_s)
        asks, wrong = asks_of(tuple(self._policies.values()), heard)
        more = _text(alert) - (0 if kept is None else kept.text)
        if asks:
            self._make_room(key, more)
        if not self._has_room(key, more):
            self.dropped += 1
            return False
        self._text += more
        self._kept[key] = _Kept(asks=asks, heard=heard, wrong=wrong, text=_text(alert))
        self._sort(key, self._kept[key])
        return True

    def set_back(self, by_s: float) -> None:
        """The clock was set back: what is held is as far from being due as before."""
        self._restored_s -= by_s
        for kept in self._kept.values():
            kept.asks = tuple(
                replace(one, due_s=one.due_s - by_s, heard_s=one.heard_s - by_s)
                for one in kept.asks
            )
            if kept.heard is not None:
                heard = kept.heard
                kept.heard = replace(
                    heard, first_s=heard.first_s - by_s, last_s=heard.last_s - by_s
                )

    def resolve(self, alert: Alert) -> None:
        """It is over."""
        self._drop((alert.origin, alert.fingerprint))

    @property
    def listens_to_findings(self) -> bool:
        """Whether a policy wants to hear them, or one of them is kept."""
        return self._wants_findings or any(origin is Origin.FINDINGS for origin, _ in self._kept)

    @property
    def _wants_findings(self) -> bool:
        return any(one.origin is Origin.FINDINGS for one in self._policies.values())

    def hear_findings(self, findings: Sequence[Finding], now_s: float) -> None:
        """Findings are told anew at each look; one that is no longer found is over."""
        # What policies say of themselves must not feed them.
        wanted = self._wants_findings
        standing = [one for one in findings if wanted and one.source is not Source.ALERTS]
        ids = {one.id for one in standing}
        for key in [key for key in self._kept if key[0] is Origin.FINDINGS]:
            returning = self._kept[key].heard is None and now_s < self._restored_s + GRACE_S
            if key[1] not in ids and not returning:
                self._drop(key)
        for finding in standing:
            self.hear(alert_of(finding), now_s)

    def forget(self, now_s: float) -> None:
        """Drop what was not told again for long: its end was lost on the way."""
        since_s = now_s - FORGET_S
        old = [
            key
            for key, kept in self._kept.items()
            if (self._restored_s if kept.heard is None else kept.heard.last_s) < since_s
        ]
        for key in old:
            self._drop(key)

    def _has_room(self, key: Key, more: int) -> bool:
        return (key in self._kept or len(self._kept) < MOST_ALERTS) and (
            self._text + more <= MOST_TEXT
        )

    def _make_room(self, key: Key, more: int) -> None:
        """Drop those that ask for nothing until there is room for one that asks."""
        while not self._has_room(key, more):
            idle = next((one for one in self._idle if one != key), None)
            if idle is None:
                return
            self._drop(idle)
            self.dropped += 1

    def _sort(self, key: Key, kept: _Kept) -> None:
        if kept.asks:
            self._idle.pop(key, None)
        else:
            self._idle.setdefault(key)

    def _drop(self, key: Key) -> None:
        self._idle.pop(key, None)
        if (kept := self._kept.pop(key, None)) is not None:
            self._text -= kept.text


def _text(alert: Alert) -> int:
    labels = sum(len(name) + len(value) for name, value in alert.labels.items())
    return labels + len(alert.summary)
