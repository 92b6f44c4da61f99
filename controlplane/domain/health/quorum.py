"""What several observers agree on.

Called by `judging`. More than half of those that know an endpoint must say the same before its
state changes; a tie, a silent majority or a majority that is cut off itself changes nothing. So
one observer never moves anything while others disagree, and losing most of them holds. Names are
free to choose and tokens are not: observers that report with one token count as one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from controlplane.domain.health.checks import Verdict
from controlplane.domain.health.picture import EndpointKey, ObserverHealth, ObserverState


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """What one observer takes an endpoint for; `words` say why it is unhealthy."""

    verdict: Verdict
    words: str = ""
    flapping: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that one observer says; a later report replaces it whole.

    Attributes:
        heard_s: when it came, by the control plane's clock.
        token: id of the token that it came with; "" is the observer's own.
    """

    observer: str
    heard_s: float
    opinions: Mapping[EndpointKey, Opinion]
    token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumRules:
    """When an observer's silence counts.

    Attributes:
        silent_s: without a report for so long it is silent: three of its heartbeats; > 0.
        forget_s: after so long it is no observer any more, so that one that was taken away
            does not hold the others up for ever; > silent_s.
    """

    silent_s: float = 3.0
    forget_s: float = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """What is agreed about one endpoint.

    Attributes:
        verdict: None while there is no majority.
        words: of one who agrees.
        flapping: whether most of those who are believed see it change too often.
    """

    verdict: Verdict | None = None
    words: str = ""
    flapping: bool = False


NO_AGREEMENT = Agreement()


def remembered(reports: Sequence[Report], now_s: float, rules: QuorumRules) -> tuple[Report, ...]:
    """Those of observers that are not forgotten, by name."""
    kept = (one for one in reports if now_s - one.heard_s < rules.forget_s)
    return tuple(sorted(kept, key=lambda one: one.observer))


def observers(
    reports: Sequence[Report],
    now_s: float,
    rules: QuorumRules,
    before: Sequence[ObserverHealth] = (),
) -> tuple[ObserverHealth, ...]:
    """Whose word counts, and since when that is so; `before` is what was found last."""
    # What seems to come from the future was heard before the clock went back.
    heard = [one for one in reports if abs(now_s - one.heard_s) < rules.silent_s]
    states = {
        one.observer: ObserverState.BLIND if _blind(one, heard) else ObserverState.HEARD
        for one in heard
    }
    since_s = {(one.name, one.state): one.since_s for one in before}
    found = [(one, states.get(one.observer, ObserverState.SILENT)) for one in reports]
    return tuple(
        ObserverHealth(
            name=one.observer,
            state=state,
            heard_s=one.heard_s,
            endpoints=len(one.opinions),
            since_s=since_s.get((one.observer, state), now_s),
            token=one.token,
        )
        for one, state in found
    )


def majority_lost(found: Sequence[ObserverHealth]) -> bool:
    """Whether half of the observers or more cannot be believed. Without any there is none to
    lose: nothing is known then, and nothing changes."""
    believed = voices(one for one in found if one.state is ObserverState.HEARD)
    return bool(found) and 2 * len(believed) <= len(voices(found))


def voices(found: Iterable[ObserverHealth]) -> frozenset[str]:
    """One for each token, however many observers report with it."""
    return frozenset(one.token or one.name for one in found)


def agreed(key: EndpointKey, reports: Sequence[Report], believed: frozenset[str]) -> Agreement:
    """What more than half of the observers that know an endpoint say about it; those of one token
    say what more than half of those who are believed among them say.

    Args:
        reports: of all observers that are remembered.
        believed: names of those whose word counts.
    """
    asked: dict[str, list[Opinion]] = {}
    for one in reports:
        if key in one.opinions:
            said = asked.setdefault(one.token or one.observer, [])
            if one.observer in believed:
                said.append(one.opinions[key])
    voiced = filter(None, asked.values())
    opinions = [said[0] if len(said) == 1 else _most(said, len(said)) for said in voiced]
    return _most(opinions, len(asked))


def _most(opinions: Sequence[Opinion | Agreement], asked: int) -> Agreement:
    """What more than half of those who were asked say."""
    for verdict in (Verdict.HEALTHY, Verdict.UNHEALTHY):
        same = [one for one in opinions if one.verdict is verdict]
        if 2 * len(same) > asked:
            # A single failed probe of a healthy one is no reason of its state.
            reasons = (one.words for one in same if verdict is Verdict.UNHEALTHY and one.words)
            return Agreement(
                verdict=verdict,
                words=next(reasons, ""),
                flapping=2 * sum(one.flapping for one in opinions) > len(opinions),
            )
    return NO_AGREEMENT


def _blind(report: Report, heard: Sequence[Report]) -> bool:
    """Whether it sees nothing well, while somebody else sees well what it calls unhealthy."""
    verdicts = {one.verdict for one in report.opinions.values()}
    if Verdict.UNHEALTHY not in verdicts or Verdict.HEALTHY in verdicts:
        return False
    return any(
        opinion.verdict is Verdict.HEALTHY and _says_unhealthy(report, key)
        for other in heard
        if other.observer != report.observer
        for key, opinion in other.opinions.items()
    )


def _says_unhealthy(report: Report, key: EndpointKey) -> bool:
    own = report.opinions.get(key)
    return own is not None and own.verdict is Verdict.UNHEALTHY
