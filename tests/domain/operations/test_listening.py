"""Alert policies that are asked together."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.errors import Invalid
from controlplane.domain.intents.intent import Target
from controlplane.domain.operations.alert_policies import Comparison, Matcher, Mode
from controlplane.domain.operations.listening import (
    MOST_ALIKE,
    MOST_EXPRESSIONS,
    check_together,
    listening,
    match,
)
from controlplane.domain.routing import expressions
from tests.domain.operations.test_episodes import POLICY, heard


def fitting(*values: str, name: str = "many", comparison: str = "=~"):  # type: ignore[no-untyped-def]
    matchers = tuple(
        Matcher(label="dc", value=value, comparison=Comparison(comparison)) for value in values
    )
    return replace(POLICY, name=name, matchers=matchers)


def test_who_is_off_or_deaf_is_not_heard() -> None:
    off = replace(POLICY, name="off", mode=Mode.OFF)
    deaf = replace(POLICY, name="deaf", matchers=(Matcher(label="alertname", value="Up"),))
    found = match(listening((POLICY, off, deaf)), heard().alert)
    assert [policy.name for policy, _ in found.orders] == ["leave"]
    assert not found.wrong


def test_an_alert_without_the_label_is_a_finding_of_the_policy() -> None:
    found = match(listening((POLICY,)), heard(dc="").alert)
    assert not found.orders
    (wrong,) = found.wrong
    assert (wrong.code, wrong.subject) == ("alert_label_missing", "alert-policy/leave")


@given(
    st.lists(st.sampled_from(["east", "e.*", "west|east", "w.*", ".+", ""]), min_size=1),
    st.booleans(),
)
def test_asked_together_they_say_what_each_says(values: list[str], turned: bool) -> None:
    policies = [
        fitting(value, name=f"p{number}", comparison="!~" if turned else "=~")
        for number, value in enumerate(values)
    ]
    alert = heard().alert
    found = match(listening(policies), alert)
    said = [policy.name for policy in policies if policy.matches(alert)]
    assert [policy.name for policy, _ in found.orders] == said[:MOST_ALIKE]


def test_an_expression_is_compiled_once_and_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred policies with twenty expressions each took half a second for each alert."""
    asked: list[str] = []
    real = expressions.Expression.matches

    def counted(self: expressions.Expression, text: str) -> bool:
        asked.append(self.text)
        return real(self, text)

    monkeypatch.setattr(expressions.Expression, "matches", counted)
    ready = listening([fitting("e.*", "eas.*", name=f"p{number}") for number in range(100)])
    made = expressions.compiled.cache_info().misses
    for number in range(500):
        expressions.compiled(f"other{number}")
    assert len(match(ready, heard().alert).orders) == MOST_ALIKE
    assert sorted(asked) == ["e.*", "eas.*"]
    assert expressions.compiled.cache_info().misses == made + 500


def test_of_many_that_ask_for_one_target_those_are_kept_that_may_begin_it() -> None:
    late = [replace(fitting("e.*", name=f"a{number}"), hold_s=60.0) for number in range(9)]
    soon = [fitting("e.*", name=f"b{number}") for number in range(9)]
    other = replace(POLICY, name="c", order=replace(POLICY.order, target=Target(datacenter="x")))
    found = match(listening((*late, *soon, other)), heard().alert)
    names = [policy.name for policy, _ in found.orders]
    assert names == ["a0", "a1", "a2", "a3", "b0", "b1", "b2", "b3", "c"]


def test_all_policies_together_have_so_many_expressions() -> None:
    some = {
        f"p{number}": fitting(*(f"x{number}-{place}" for place in range(16)), name=f"p{number}")
        for number in range(MOST_EXPRESSIONS // 16)
    }
    check_together(some)
    check_together({**some, "same": fitting("x1-1", name="same")})
    plain = replace(POLICY, name="plain", matchers=(Matcher(label="dc", value="one more"),))
    check_together({**some, "plain": plain})
    with pytest.raises(Invalid, match="257 different regular expressions, at most 256"):
        check_together({**some, "more": fitting("one more", name="more")})
