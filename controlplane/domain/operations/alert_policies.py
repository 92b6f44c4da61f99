"""Alert policies: which alerts order which intent, for how long, how often.

Read by `episodes`. Declared through the API; `checked` is the one place that says what is allowed.
Matchers are Alertmanager's: `=`, `!=`, `=~`, `!~`, expressions match the whole value, and a label
that is missing is "".
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from controlplane.domain.errors import Invalid
from controlplane.domain.intents.intent import Target, Wanted
from controlplane.domain.operations.alerts import Alert, Origin
from controlplane.domain.routing.expressions import compiled, fault

NAME_RULE = r"[a-z0-9][a-z0-9-]{0,62}"
MOST_POLICIES = 100
MOST_MATCHERS = 20
# An intent of a machine must end by itself: between a minute and a week.
LASTS_S = (60.0, 7 * 86_400.0)
PER_S = (1.0, 30 * 86_400.0)
LONGEST_HOLD_S = 3_600.0
_LABEL = re.compile(r"\{([a-zA-Z_][a-zA-Z0-9_]*)\}")


# Whether an expression matches all of a text.
Fits = Callable[[str, str], bool]


def _fits(expression: str, text: str) -> bool:
    return compiled(expression).matches(text)


class Comparison(StrEnum):
    """How a label is compared."""

    IS = "="
    IS_NOT = "!="
    FITS = "=~"
    FITS_NOT = "!~"


@dataclass(frozen=True, slots=True, kw_only=True)
class Matcher:
    """One condition on a label."""

    label: str
    value: str
    comparison: Comparison = Comparison.IS

    def holds(self, labels: Mapping[str, str], fits: Fits = _fits) -> bool:
        """Whether it holds for an alert's labels."""
        found = labels.get(self.label, "")
        match self.comparison:
            case Comparison.IS:
                return found == self.value
            case Comparison.IS_NOT:
                return found != self.value
            case Comparison.FITS:
                return fits(self.value, found)
            case _:
                return not fits(self.value, found)


class OnResolve(StrEnum):
    """What becomes of the intent when the last alert of its target is resolved."""

    END = "end"
    KEEP = "keep"


class Mode(StrEnum):
    """Whether it acts, only says what it would do, or does nothing."""

    ACT = "act"
    PROPOSE = "propose"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertPolicy:
    """One policy. Of several that match a target the one whose name comes first counts.

    Attributes:
        matchers: all must hold.
        order: what is asked for; `{label}` in its target takes the value of the alert's label.
        lasts_s: the intent ends after this in any case; 60 s to a week.
        most, per_s: at most so many intents of this policy in so many seconds.
        hold_s: so long an alert fires before it counts; 0 is at once.
    """

    name: str
    matchers: tuple[Matcher, ...]
    order: Wanted
    origin: Origin = Origin.ALERTMANAGER
    lasts_s: float = 3_600.0
    most: int = 3
    per_s: float = 3_600.0
    hold_s: float = 0.0
    on_resolve: OnResolve = OnResolve.END
    mode: Mode = Mode.ACT

    def matches(self, alert: Alert, fits: Fits = _fits) -> bool:
        """Whether it listens to this alert.

        Args:
            fits: whether an expression matches all of a text.
        """
        return alert.origin is self.origin and all(
            one.holds(alert.labels, fits) for one in self.matchers
        )


def order_for(policy: AlertPolicy, alert: Alert) -> Wanted:
    """What a policy asks for because of an alert; when it ends is not said here.

    Raises:
        Invalid: `alert_label_missing`, the alert lacks a label that the target takes.
    """

    def filled(text: str) -> str:
        return _LABEL.sub(lambda found: _label(policy, alert, found.group(1)), text)

    target = policy.order.target
    return replace(
        policy.order,
        target=Target(
            service=filled(target.service),
            datacenter=filled(target.datacenter),
            cluster=filled(target.cluster),
            endpoint=filled(target.endpoint),
        ),
    )


def checked(policy: AlertPolicy) -> AlertPolicy:
    """The policy; Invalid names the first thing that is wrong with it."""
    for wrong, words in (
        (not re.fullmatch(NAME_RULE, policy.name), f"its name must fit {NAME_RULE}"),
        (not policy.matchers, "it needs at least one matcher, or any alert would move traffic"),
        (len(policy.matchers) > MOST_MATCHERS, f"it has more than {MOST_MATCHERS} matchers"),
        (policy.order.force, "its order must not force: only a person may, who sees the numbers"),
        (not _within(policy.lasts_s, LASTS_S), f"lasts_s must be within {_span(LASTS_S)}"),
        (not 1 <= policy.most <= 100, "most must be within 1..100"),
        (not _within(policy.per_s, PER_S), f"per_s must be within {_span(PER_S)}"),
        (not 0 <= policy.hold_s <= LONGEST_HOLD_S, f"hold_s must be 0..{LONGEST_HOLD_S:g}"),
    ):
        if wrong:
            raise _invalid(policy, words)
    for matcher in policy.matchers:
        _check_matcher(policy, matcher)
    return policy


def _check_matcher(policy: AlertPolicy, matcher: Matcher) -> None:
    if not re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]{0,127}", matcher.label):
        raise _invalid(policy, f"{matcher.label[:80]!r} is no name of a label")
    fits = matcher.comparison in (Comparison.FITS, Comparison.FITS_NOT)
    if fits and (wrong := fault(matcher.value)) is not None:
        raise _invalid(policy, f"{matcher.value[:80]!r} is no regular expression: {wrong.words}")


def _label(policy: AlertPolicy, alert: Alert, name: str) -> str:
    value = alert.labels.get(name, "")
    if not value:
        raise Invalid(
            "alert_label_missing",
            f"alert {alert.name or alert.fingerprint} has no label {name}, which alert policy "
            f"{policy.name} takes for its target: add it to the alert's rule, or name the target",
        )
    return value


def _within(value: float, span: tuple[float, float]) -> bool:
    return span[0] <= value <= span[1]


def _span(span: tuple[float, float]) -> str:
    return f"{span[0]:g}..{span[1]:g}"


def _invalid(policy: AlertPolicy, words: str) -> Invalid:
    return Invalid("alert_policy_invalid", f"alert policy {policy.name[:80]}: {words}")
