"""What is declared of abnormal traffic: how clients are told apart, rules, and levels of risk."""

from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.admission.asking import Verdict
from controlplane.domain.admission.rate_limit import RateLimitPolicy, check_rate_limit
from controlplane.domain.errors import Invalid
from controlplane.domain.routing.matching.functions import faults
from controlplane.domain.routing.matching.provided_functions import PROVIDED
from controlplane.domain.routing.route import FunctionCall

MOST_RULES, MOST_LEVELS = 100, 9
MOST_SCORE = 1_000


class Signal(StrEnum):
    """What is known of a client, over the policy's window.

    `RATE_RPS` requests per second; `PATHS` different paths; `PATHS_PER_REQUEST` these over the
    requests, 0..1; `FAILED_LOGINS` and `ORDERS` how many; `OPEN_TO_ORDER_S` seconds from the first
    request of an opening route to the first order, unknown without either; `ORDER_WITHOUT_OPEN` 1
    for an order of somebody who never opened the page.
    """

    RATE_RPS = "rate_rps"
    PATHS = "paths"
    PATHS_PER_REQUEST = "paths_per_request"
    FAILED_LOGINS = "failed_logins"
    ORDERS = "orders"
    OPEN_TO_ORDER_S = "open_to_order_s"
    ORDER_WITHOUT_OPEN = "order_without_open"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRule:
    """Adds to a client's score while its signal is within bounds, or while a function holds.

    Attributes:
        score: -1,000..1,000; below 0 speaks for the client.
        signal: what is looked at; None with `when`.
        at_least, at_most: bounds of the signal; None is no bound.
        requests: of a client in the window, below which the rule says nothing, >= 1.
        when: match functions that all hold for the request itself (user agent, language, referer).
    """

    name: str
    score: int
    signal: Signal | None = None
    at_least: float | None = None
    at_most: float | None = None
    requests: int = 1
    when: tuple[FunctionCall, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskLevel:
    """What clients from a score on get.

    Attributes:
        at_least: score, 1..1,000.
        verdict: `divert` (to `service`), `challenge` or `refuse`; `admit` only tells the level.
        service: who serves them, the slow queue for instance; with `divert` only.
    """

    at_least: int
    verdict: Verdict = Verdict.DIVERT
    service: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AbnormalTrafficPolicy:
    """Rules, levels, and what a client is.

    Attributes:
        client: how clients are told apart, as `key` of a rate limit.
        window_s: what is older is forgotten, 1..3,600.
        hold_s: a level that was reached is kept for so long, 0..86,400: a bot that pauses is one.
        rules: up to 100. levels: up to 9, rising scores; the last that is reached counts, and
            nothing reached is level 0.
        login_routes, open_routes, order_routes: ids of routes that the signals are about.
        header: request header that carries the level to upstreams and to the routes' match
            function `risk_level`.
    """

    client: tuple[str, ...] = ("user",)
    window_s: float = 60.0
    hold_s: float = 300.0
    rules: tuple[ScoreRule, ...] = ()
    levels: tuple[RiskLevel, ...] = ()
    login_routes: tuple[str, ...] = ()
    open_routes: tuple[str, ...] = ()
    order_routes: tuple[str, ...] = ()
    header: str = "x-risk-level"


VERDICTS = frozenset({Verdict.ADMIT, Verdict.DIVERT, Verdict.CHALLENGE, Verdict.REFUSE})


def check_abnormal_traffic(policy: AbnormalTrafficPolicy) -> None:
    """Raise Invalid `policy_invalid` for what cannot be carried out."""
    check_rate_limit(RateLimitPolicy(key=policy.client))
    if not policy.client:
        raise _invalid("client is empty: name what tells clients apart, as user or source")
    for name, low, high in (("window_s", 1.0, 3_600.0), ("hold_s", 0.0, 86_400.0)):
        value = getattr(policy, name)
        if not low <= value <= high:
            raise _invalid(f"{name} is {value}: give {low}..{high}")
    if len(policy.rules) > MOST_RULES or len(policy.levels) > MOST_LEVELS:
        raise _invalid(
            f"there are {len(policy.rules)} rules and {len(policy.levels)} levels: keep them "
            f"within {MOST_RULES} and {MOST_LEVELS}"
        )
    for rule in policy.rules:
        _check_rule(rule)
    for level in policy.levels:
        _check_level(level)
    scores = [level.at_least for level in policy.levels]
    if scores != sorted(set(scores)):
        raise _invalid(f"levels begin at {scores}: give each a higher score than the one before")


def _check_rule(rule: ScoreRule) -> None:
    where = f"rule {rule.name}"
    if (rule.signal is None) == (not rule.when):
        raise _invalid(f"{where} needs a signal or match functions, and not both")
    if rule.signal is not None and rule.at_least is None and rule.at_most is None:
        raise _invalid(f"{where} has no bound: give at_least or at_most")
    if not -MOST_SCORE <= rule.score <= MOST_SCORE:
        raise _invalid(f"{where} scores {rule.score}: give -{MOST_SCORE}..{MOST_SCORE}")
    if rule.requests < 1:
        raise _invalid(f"{where} needs {rule.requests} requests: give at least 1")
    for call in rule.when:
        for words in faults(call, PROVIDED):
            raise _invalid(f"{where}: {words}")


def _check_level(level: RiskLevel) -> None:
    if not 1 <= level.at_least <= MOST_SCORE:
        raise _invalid(f"a level begins at {level.at_least}: give 1..{MOST_SCORE}")
    if level.verdict not in VERDICTS:
        raise _invalid(f"a level says {level.verdict}: give {', '.join(sorted(VERDICTS))}")
    if (level.verdict is Verdict.DIVERT) != bool(level.service):
        raise _invalid(
            f"the level from {level.at_least} says {level.verdict} with service "
            f"{level.service or 'none'}: divert needs a service, and only divert has one"
        )


def _invalid(words: str) -> Invalid:
    return Invalid("policy_invalid", f"abnormal_traffic: {words}")
