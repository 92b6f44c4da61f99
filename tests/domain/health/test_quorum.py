"""What several observers agree on."""

import pytest

from controlplane.domain.health.checks import Verdict
from controlplane.domain.health.picture import EndpointKey, ObserverState
from controlplane.domain.health.quorum import (
    NO_AGREEMENT,
    Opinion,
    QuorumRules,
    Report,
    agreed,
    majority_lost,
    observers,
    remembered,
)

KEYS = tuple(
    EndpointKey(service="shop", datacenter="east", cluster="", address="10.0.0.1", port=port)
    for port in (1, 2)
)
RULES = QuorumRules()
H, U, N = Verdict.HEALTHY, Verdict.UNHEALTHY, Verdict.UNKNOWN
HEARD, SILENT, BLIND = ObserverState.HEARD, ObserverState.SILENT, ObserverState.BLIND


def report(name: str, *verdicts: Verdict, heard_s: float = 100.0, token: str = "") -> Report:
    opinions = {
        key: Opinion(verdict=one, words="refused" if one is U else "", flapping=one is U)
        for key, one in zip(KEYS, verdicts, strict=False)
    }
    return Report(observer=name, heard_s=heard_s, opinions=opinions, token=token)


@pytest.mark.parametrize(
    ("verdicts", "agreement"),
    [
        ((U,), U),
        ((H,), H),
        ((N,), None),
        ((U, H), None),
        ((U, U), U),
        ((U, H, H), H),
        ((U, U, H), U),
        ((U, N, N), None),
        ((U, U, H, H), None),
        ((), None),
    ],
)
def test_more_than_half_must_agree(
    verdicts: tuple[Verdict, ...], agreement: Verdict | None
) -> None:
    reports = [report(f"o{n}", one) for n, one in enumerate(verdicts)]
    names = frozenset(one.observer for one in reports)
    found = agreed(KEYS[0], reports, names)
    assert found.verdict is agreement
    assert found.words == ("refused" if agreement is U else "")


def test_one_that_is_not_believed_counts_among_those_who_were_asked() -> None:
    reports = [report("a", U), report("b", U), report("c", H)]
    assert agreed(KEYS[0], reports, frozenset({"a", "c"})) == NO_AGREEMENT
    assert agreed(KEYS[0], reports, frozenset({"a", "b"})).verdict is U
    assert agreed(KEYS[1], reports, frozenset({"a", "b"})) == NO_AGREEMENT


@pytest.mark.parametrize(
    ("shared", "alone", "believed", "agreement"),
    [
        ((U, U, U), (H,), "abcx", None),
        ((U, U, U), (U,), "abcx", U),
        ((U, U, H), (U,), "abcx", U),
        ((U, H), (U,), "abx", None),
        ((U, H), (H, H), "abxy", H),
        ((U, H), (U,), "ax", U),
        ((U, U), (U,), "x", None),
        ((U, U), (), "ab", U),
    ],
    ids=[
        "three names are no majority",
        "agree with another",
        "most of them speak for all",
        "a tie among them says nothing",
        "a tie among them is outvoted",
        "who is silent among them is left out",
        "silent altogether they count as one that was asked",
        "alone they are all there is",
    ],
)
def test_observers_of_one_token_count_as_one(
    shared: tuple[Verdict, ...],
    alone: tuple[Verdict, ...],
    believed: str,
    agreement: Verdict | None,
) -> None:
    reports = [report(n, one, token="t") for n, one in zip("abc", shared, strict=False)]
    reports += [report(n, one) for n, one in zip("xy", alone, strict=False)]
    assert agreed(KEYS[0], reports, frozenset(believed)).verdict is agreement


def test_silent_names_of_one_token_hold_nobody_up() -> None:
    silent = [report(n, H, heard_s=0.0, token="t") for n in "abc"]
    found = observers([*silent, report("x", H), report("y", H)], 100.0, RULES)
    assert [one.token for one in found] == ["t", "t", "t", "", ""]
    assert not majority_lost(found)
    assert majority_lost(found[:4])
    # One that is heard speaks for the token.
    assert not majority_lost(observers([*silent, report("d", H, token="t")], 100.0, RULES))


def test_only_observers_that_know_an_endpoint_are_asked() -> None:
    reports = [report("a", U, U), report("b", H), report("c", H)]
    assert agreed(KEYS[1], reports, frozenset("abc")).verdict is U


def test_one_failed_probe_of_a_healthy_endpoint_is_no_reason() -> None:
    doubted = {KEYS[0]: Opinion(verdict=H, words="refused")}
    found = agreed(KEYS[0], [Report(observer="a", heard_s=1.0, opinions=doubted)], frozenset("a"))
    assert (found.verdict, found.words) == (H, "")


def test_most_must_see_it_flap() -> None:
    calm = Report(observer="b", heard_s=1.0, opinions={KEYS[0]: Opinion(verdict=U)})
    two = [report("a", U), report("c", U), calm]
    assert agreed(KEYS[0], two, frozenset("abc")).flapping
    assert not agreed(KEYS[0], [report("a", U), calm], frozenset("ab")).flapping


def test_an_observer_that_does_not_report_is_silent_then_forgotten() -> None:
    reports = [report("b", H, heard_s=90.0), report("a", H), report("c", H, heard_s=-600.0)]
    kept = remembered(reports, 100.0, RULES)
    assert [one.observer for one in kept] == ["a", "b"]
    assert [one.state for one in observers(kept, 100.0, RULES)] == [HEARD, SILENT]


def test_one_that_sees_nothing_well_while_others_do_is_blind() -> None:
    found = observers([report("a", U, U), report("b", H, U), report("c", H, H)], 100.0, RULES)
    assert [one.state for one in found] == [BLIND, HEARD, HEARD]
    assert [one.endpoints for one in found] == [2, 2, 2]


@pytest.mark.parametrize(
    "others",
    [
        [],
        [("b", (U, U))],
        [("b", (N, H))],
        [("b", ())],
    ],
    ids=["alone", "agree", "of another endpoint", "nothing to say"],
)
def test_it_is_not_blind_when_nobody_sees_well_what_it_calls_unhealthy(
    others: list[tuple[str, tuple[Verdict, ...]]],
) -> None:
    reports = [report("a", U), *(report(name, *verdicts) for name, verdicts in others)]
    if others and others[0][1] == (U, U):
        reports[0] = report("a", U, U)
    assert observers(reports, 100.0, RULES)[0].state is HEARD


def test_a_silent_observer_makes_nobody_blind() -> None:
    found = observers([report("a", U), report("b", H, heard_s=90.0)], 100.0, RULES)
    assert [one.state for one in found] == [HEARD, SILENT]


def test_it_is_known_since_when_an_observer_is_what_it_is() -> None:
    first = observers([report("a", H)], 100.0, RULES)
    same = observers([report("a", H, heard_s=101.0)], 101.0, RULES, first)
    later = observers([report("a", H, heard_s=101.0)], 109.0, RULES, same)
    assert [one.since_s for one in (*first, *same, *later)] == [100.0, 100.0, 109.0]


@pytest.mark.parametrize(
    ("states", "lost"),
    [
        ((), False),
        ((HEARD,), False),
        ((SILENT,), True),
        ((HEARD, SILENT), True),
        ((HEARD, HEARD, SILENT), False),
        ((HEARD, BLIND, SILENT), True),
        ((HEARD, BLIND, HEARD), False),
    ],
)
def test_a_majority_must_be_believed(states: tuple[ObserverState, ...], lost: bool) -> None:
    reports = {
        HEARD: report("x", H),
        SILENT: report("x", H, heard_s=0.0),
        BLIND: report("x", U),
    }
    given = [
        Report(observer=f"o{n}", heard_s=reports[one].heard_s, opinions=reports[one].opinions)
        for n, one in enumerate(states)
    ]
    found = observers(given, 100.0, RULES)
    assert tuple(one.state for one in found) == states
    assert majority_lost(found) is lost


def test_who_was_heard_before_the_clock_went_back_must_report_again() -> None:
    found = observers([report("a", H, heard_s=3_700.0), report("b", H)], 100.0, RULES)
    assert [one.state for one in found] == [SILENT, HEARD]
