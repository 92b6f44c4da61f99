"""Scenarios: named sets of intents, prepared in quiet times, applied and undone as one.

`engine.operations.scenarios` applies them; a run remembers which intents it made.
"""

import re
from dataclasses import dataclass, replace

from controlplane.domain.errors import Invalid
from controlplane.domain.intents.intent import IntentKind, Wanted
from controlplane.domain.operations.alert_policies import LASTS_S, NAME_RULE

MOST_ORDERS = 50
# A restore only ends others, and a rollback takes everything: neither is a part that is undone.
NOT_IN_SETS = frozenset({IntentKind.RESTORE, IntentKind.ROLLBACK})


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A prepared set.

    Attributes:
        orders: applied in this order, undone in the opposite one.
        lasts_s: its intents end after this; None is never.
    """

    name: str
    title: str
    orders: tuple[Wanted, ...]
    lasts_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioRun:
    """A scenario that was applied.

    Attributes:
        name: `<scenario>-<number>`.
        intents: ids, in the order in which they were made.
        undone_s: when it was taken back; None while it was not. Its intents may have ended before.
    """

    name: str
    scenario: str
    author: str
    reason: str
    applied_s: float
    intents: tuple[str, ...] = ()
    undone_s: float | None = None


def checked(scenario: Scenario) -> Scenario:
    """The scenario; Invalid names the first thing that is wrong with it."""
    for wrong, words in (
        (not re.fullmatch(NAME_RULE, scenario.name), f"its name must fit {NAME_RULE}"),
        (
            not 1 <= len(scenario.orders) <= MOST_ORDERS,
            f"it has {len(scenario.orders)} orders, it may have 1..{MOST_ORDERS}",
        ),
        (
            scenario.lasts_s is not None and not LASTS_S[0] <= scenario.lasts_s <= LASTS_S[1],
            f"lasts_s must be within {LASTS_S[0]:g}..{LASTS_S[1]:g}",
        ),
    ):
        if wrong:
            raise _invalid(scenario, words)
    if problem := problem_of(scenario.orders):
        raise _invalid(scenario, problem)
    return scenario


def problem_of(orders: tuple[Wanted, ...]) -> str:
    """Why orders cannot be applied and undone as one; "" when they can."""
    seen: set[tuple[str, str]] = set()
    for order in orders:
        if order.kind in NOT_IN_SETS:
            return f"a {order.kind} cannot be undone as a part of a set"
        key = (order.kind.value, order.target.subject)
        if key in seen:
            return f"it orders {order.kind} of {order.target.subject} twice"
        seen.add(key)
    return ""


def dated(scenario: Scenario, reason: str, now_s: float) -> tuple[Wanted, ...]:
    """Its orders for being applied now."""
    ends_s = None if scenario.lasts_s is None else now_s + scenario.lasts_s
    words = reason or scenario.title
    return tuple(
        replace(order, expires_s=ends_s, reason=order.reason or words) for order in scenario.orders
    )


def _invalid(scenario: Scenario, words: str) -> Invalid:
    return Invalid("scenario_invalid", f"scenario {scenario.name[:80]}: {words}")
