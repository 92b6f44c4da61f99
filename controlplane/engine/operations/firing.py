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
from controlplane.domain.operations.listening import Match

# A thousand targets with ten alerts each.
MOST_ALERTS = 10_000
# Characters of all labels and words: what ten thousand of the usual size have several times over.
MOST_TEXT = 50_000_000
# Alertmanager repeats what fires; its longest usual interval is a day.
FORGET_S = 2 * 86_400.0
# A finding has this long to appear again after a restart, before its episode is over.
GRACE_S = 60.0

Key = tuple[Origin, str]
NOTHING = Match()


@dataclass(slots=True)
class _Kept:
    """What is known of a firing alert; `heard` is None for one of before a restart."""

    asks: tuple[Ask, ...]
    heard: Heard | None = None
    match: Match = NOTHING
    text: int = 0


class Firing:
    """The alerts that fire. `dropped` counts those that had no room; `policies` are those by which
    it was asked what alerts want."""

    def __init__(self) -> None:
        self._kept: dict[Key, _Kept] = {}
        # Those that ask for nothing, the earliest first.
        self._idle: dict[Key, None] = {}
        self.policies: Mapping[str, AlertPolicy] = {}
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
        found = {(w.subject, w.code): w for kept in self._kept.values() for w in kept.match.wrong}
        return list(found.values())

    def restore(self, episodes: Iterable[Episode], now_s: float) -> None:
        """Let the alerts of earlier episodes fire until they are told over."""
        self._restored_s = now_s
        for episode in episodes:
            policy = self.policies.get(episode.policy)
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

    @property
    def alerts(self) -> dict[Key, Alert]:
        """Those that were told since the start."""
        return {key: kept.heard.alert for key, kept in self._kept.items() if kept.heard is not None}

    def renew(self, policies: Mapping[str, AlertPolicy], matches: Mapping[Key, Match]) -> None:
        """After a change of policies take what every alert wants now."""
        self.policies = policies
        for key, found in matches.items():
            kept = self._kept.get(key)
            if kept is not None and kept.heard is not None:
                kept.match, kept.asks = found, asks_of(found, kept.heard)
                self._sort(key, kept)

    def known(self, alert: Alert) -> Match | None:
        """What it asks for when it was told before with the same labels."""
        kept = self._kept.get((alert.origin, alert.fingerprint))
        told = None if kept is None or kept.heard is None else kept.heard.alert
        return kept.match if kept and told and told.labels == alert.labels else None

    def hear(self, alert: Alert, found: Match, now_s: float) -> bool:
        """Keep a firing alert with what it asks for; False when there are too many."""
        key = (alert.origin, alert.fingerprint)
        kept = self._kept.get(key)
        first_s = now_s if kept is None or kept.heard is None else kept.heard.first_s
        heard = Heard(alert=alert, first_s=first_s, last_s=now_s)
        asks = asks_of(found, heard)
        more = _text(alert) - (0 if kept is None else kept.text)
        if asks:
            self._make_room(key, more)
        if not self._has_room(key, more):
            self.dropped += 1
            return False
        self._text += more
        self._kept[key] = _Kept(asks=asks, heard=heard, match=found, text=_text(alert))
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
        return any(one.origin is Origin.FINDINGS for one in self.policies.values())

    def wanted(self, findings: Sequence[Finding]) -> list[Alert]:
        """The findings that are heard, as alerts; what policies say of themselves must not feed
        them."""
        if not self._wants_findings:
            return []
        return [alert_of(one) for one in findings if one.source is not Source.ALERTS]

    def hear_findings(self, standing: Sequence[tuple[Alert, Match]], now_s: float) -> None:
        """Findings are told anew at each look; one that is no longer found is over."""
        ids = {alert.fingerprint for alert, _ in standing}
        for key in [key for key in self._kept if key[0] is Origin.FINDINGS]:
            returning = self._kept[key].heard is None and now_s < self._restored_s + GRACE_S
            if key[1] not in ids and not returning:
                self._drop(key)
        for alert, found in standing:
            self.hear(alert, found, now_s)

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
