"""Signals of a client, the rules that they meet, its level of risk, and what follows from it.

`scorer` is made once for a policy; `decide` is the same for a dry run.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from controlplane.domain.admission.abnormal_traffic.client import (
    Client,
    different,
    seen,
    totals,
)
from controlplane.domain.admission.abnormal_traffic.policy import (
    AbnormalTrafficPolicy,
    ScoreRule,
    Signal,
)
from controlplane.domain.admission.asking import Asked, Decision, Verdict
from controlplane.domain.routing.matching.functions import predicate
from controlplane.domain.routing.matching.provided_functions import PROVIDED
from controlplane.domain.routing.matching.request import Request

# A client that sent its second request at once has not thereby a rate of a million.
SHORTEST_S = 1.0
STATUSES = {Verdict.REFUSE: 403, Verdict.CHALLENGE: 403}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficFacts:
    """What is known beside the request: its client before it; None is a new one."""

    client: Client | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """What the rules say of a request.

    Attributes:
        hits: names of the rules that are met.
        level: 0 is no risk; number in `levels`, from 1.
        client: with this request, and with the level that it has reached.
    """

    score: int
    hits: tuple[str, ...]
    level: int
    client: Client


Scorer = Callable[[Client | None, Asked], Scored]
_Test = Callable[[Request], bool]


def scorer(policy: AbnormalTrafficPolicy) -> Scorer:
    """A policy made ready to judge requests."""
    tests = tuple((rule, _test(rule)) for rule in policy.rules)

    def scored(known: Client | None, asked: Asked) -> Scored:
        client = seen(policy, known, asked)
        values = signals(policy, client, asked.now_s)
        requests = totals(policy, client, asked.now_s).requests
        hits = tuple(
            rule
            for rule, holds in tests
            if requests >= rule.requests and _met(rule, values) and holds(asked.request)
        )
        score = sum(rule.score for rule in hits)
        reached = sum(score >= level.at_least for level in policy.levels)
        client = _held(policy, client, reached, asked.now_s)
        return Scored(
            score=score, hits=tuple(rule.name for rule in hits), level=client.level, client=client
        )

    return scored


def decide(policy: AbnormalTrafficPolicy, asked: Asked, facts: TrafficFacts) -> Decision:
    """What a request gets; for many, `scorer` once and `verdict_of` each."""
    return verdict_of(policy, scorer(policy)(facts.client, asked))


def verdict_of(policy: AbnormalTrafficPolicy, scored: Scored) -> Decision:
    """What the level that was reached says; each decision explains itself."""
    details: Mapping[str, object] = {
        "level": scored.level,
        "score": scored.score,
        "rules": list(scored.hits),
    }
    if scored.level == 0:
        return Decision(verdict=Verdict.ADMIT, details=details)
    level = policy.levels[scored.level - 1]
    if level.verdict is Verdict.ADMIT:
        return Decision(verdict=Verdict.ADMIT, details=details)
    return Decision(
        verdict=level.verdict,
        reason="abnormal_traffic",
        status=STATUSES.get(level.verdict, 0),
        service=level.service,
        details=details,
    )


def signals(policy: AbnormalTrafficPolicy, client: Client, now_s: float) -> Mapping[Signal, float]:
    """What is known of a client; what is unknown is left out."""
    counts = totals(policy, client, now_s)
    paths = different(counts.paths)
    lasted_s = min(policy.window_s, max(SHORTEST_S, now_s - client.since_s))
    known = {
        Signal.RATE_RPS: counts.requests / lasted_s,
        Signal.PATHS: paths,
        Signal.PATHS_PER_REQUEST: min(1.0, paths / max(1, counts.requests)),
        Signal.FAILED_LOGINS: float(counts.failed_logins),
        Signal.ORDERS: float(counts.orders),
        Signal.ORDER_WITHOUT_OPEN: float(client.blind),
    }
    if client.took_s is not None:
        known[Signal.OPEN_TO_ORDER_S] = client.took_s
    return known


def _met(rule: ScoreRule, values: Mapping[Signal, float]) -> bool:
    if rule.signal is None:
        return True
    value = values.get(rule.signal)
    if value is None:
        return False
    low, high = rule.at_least, rule.at_most
    return (low is None or value >= low) and (high is None or value <= high)


def _test(rule: ScoreRule) -> _Test:
    tests = tuple(predicate(call, PROVIDED) for call in rule.when)
    return lambda request: all(holds(request) for holds in tests)


def _held(policy: AbnormalTrafficPolicy, client: Client, reached: int, now_s: float) -> Client:
    """The higher of what is reached now and what is still held."""
    if reached and (reached >= client.level or client.held_s <= now_s):
        return replace(client, level=reached, held_s=now_s + policy.hold_s)
    if client.held_s <= now_s:
        return replace(client, level=0)
    return client
