"""Alert policies ready to be asked: expressions compiled once, and each asked once of an alert.

Called by `engine.operations.alerts`, beside its event loop. Asked one by one, a hundred policies
compiled two thousand expressions for each alert: half a second.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from controlplane.domain.errors import Invalid
from controlplane.domain.findings import Observation
from controlplane.domain.intents.intent import Wanted
from controlplane.domain.operations.alert_policies import (
    AlertPolicy,
    Comparison,
    Mode,
    order_for,
)
from controlplane.domain.operations.alerts import Alert
from controlplane.domain.routing.expressions import Expression, compiled

# Of all policies together: what they hold in memory at most is that of as many routes.
MOST_EXPRESSIONS = 256
# Policies that ask for one target and are due no later than those that follow by name: these never
# begin an episode, and one that went on with them is taken over by the first.
MOST_ALIKE = 4
_BY_EXPRESSION = frozenset({Comparison.FITS, Comparison.FITS_NOT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """The policies that are not off, by name, and their expressions by text."""

    policies: tuple[AlertPolicy, ...] = ()
    expressions: Mapping[str, Expression] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """What an alert asks for by each policy that listens, and why it cannot be asked."""

    orders: tuple[tuple[AlertPolicy, Wanted], ...] = ()
    wrong: tuple[Observation, ...] = ()


def listening(policies: Iterable[AlertPolicy]) -> Listening:
    """The policies ready to be asked."""
    awake = tuple(one for one in policies if one.mode is not Mode.OFF)
    return Listening(
        policies=awake, expressions={text: compiled(text) for text in _expressions(awake)}
    )


def match(listening: Listening, alert: Alert) -> Match:
    """What an alert asks for."""
    known: dict[tuple[str, str], bool] = {}

    def fits(expression: str, text: str) -> bool:
        asked = (expression, text)
        if asked not in known:
            known[asked] = listening.expressions[expression].matches(text)
        return known[asked]

    orders: list[tuple[AlertPolicy, Wanted]] = []
    wrong: list[Observation] = []
    holds: dict[str, list[float]] = {}
    for policy in listening.policies:
        if not policy.matches(alert, fits):
            continue
        try:
            wanted = order_for(policy, alert)
        except Invalid as error:
            wrong.append(_unusable(policy, error))
            continue
        earlier = holds.setdefault(wanted.target.subject, [])
        if sum(hold_s <= policy.hold_s for hold_s in earlier) < MOST_ALIKE:
            earlier.append(policy.hold_s)
            orders.append((policy, wanted))
    return Match(orders=tuple(orders), wrong=tuple(wrong))


def check_together(policies: Mapping[str, AlertPolicy]) -> None:
    """Raise Invalid when the policies have too many expressions between them."""
    count = len(_expressions(policies.values()))
    if count > MOST_EXPRESSIONS:
        raise Invalid(
            "alert_policy_invalid",
            f"the alert policies together have {count} different regular expressions, at most "
            f"{MOST_EXPRESSIONS} may be: compare with = where a value is fixed, or join several "
            "with |",
        )


def _expressions(policies: Iterable[AlertPolicy]) -> frozenset[str]:
    return frozenset(
        one.value
        for policy in policies
        for one in policy.matchers
        if one.comparison in _BY_EXPRESSION
    )


def _unusable(policy: AlertPolicy, error: Invalid) -> Observation:
    return Observation(
        code="alert_label_missing",
        subject=f"alert-policy/{policy.name}",
        message=error.message,
        held="no intent is made of the alert",
    )
