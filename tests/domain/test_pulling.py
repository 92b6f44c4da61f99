import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.findings import Observation, Severity
from controlplane.domain.pulling.asked import Asked, Pulled
from controlplane.domain.pulling.joining import MOST_SERIES_FOUND, joined
from controlplane.domain.sources import Answer, DeclaredSource, Failure, Point
from tests import builders

NOW_S = 6_000.0
EAST, WEST = "beijing-1", "beijing-2"
QUERIES = ("cpu_avg", "newest_sample", "request_rate_rps", "response_time_ms")
SOURCE = DeclaredSource(
    name="main", url="http://p", queries=tuple((reading, reading) for reading in QUERIES)
)
ASKED = Asked(source=SOURCE, time_s=NOW_S, period_s=60.0)


def point(
    value: float, datacenter: str = EAST, service: str = "tickets", time_s: float = NOW_S
) -> Point:
    return Point(service=service, datacenter=datacenter, value=value, time_s=time_s)


def both(reading: str, east: float, west: float) -> Answer:
    return Answer(reading=reading, points=(point(east), point(west, WEST)))


CPU = both("cpu_avg", 0.5, 0.6)
RATE = both("request_rate_rps", 40.0, 20.0)
TIME = both("response_time_ms", 50.0, 70.0)
NEWEST = both("newest_sample", NOW_S - 5, NOW_S - 7)


def pull(*answers: Answer, failures: tuple[Failure, ...] = (), asked: Asked = ASKED) -> Pulled:
    return joined(asked, answers, failures, builders.fleet())


def found(pulled: Pulled) -> list[tuple[str, str]]:
    return [(one.code, one.subject.removeprefix("source/main")) for one in pulled.observations]


def centers(pulled: Pulled) -> list[str]:
    return [sample.datacenter for sample in pulled.samples]


def test_answers_become_samples_of_the_time_of_evaluation() -> None:
    pulled = pull(TIME, RATE, CPU, NEWEST)
    assert pulled.observations == ()
    east, west = pulled.samples
    assert (east.service, east.datacenter, west.datacenter) == ("tickets", EAST, WEST)
    assert (east.time_s, east.response_time_ms, east.request_rate_rps) == (NOW_S, 50.0, 40.0)
    assert (west.cpu_avg, west.memory) == (0.6, None)


def test_the_order_of_answers_and_series_never_shows() -> None:
    turned = [replace(one, points=one.points[::-1]) for one in (CPU, TIME, NEWEST, RATE)]
    assert pull(*turned) == pull(TIME, RATE, CPU, NEWEST)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_no_number_costs_its_series_only(value: float) -> None:
    pulled = pull(TIME, RATE, both("cpu_avg", value, 0.6))
    assert found(pulled) == [
        ("source_value_not_finite", f" query/cpu_avg service/tickets datacenter/{EAST}")
    ]
    assert [sample.cpu_avg for sample in pulled.samples] == [None, 0.6]


def test_a_required_value_that_is_no_number_costs_the_sample_and_makes_no_zero() -> None:
    pulled = pull(both("response_time_ms", math.nan, 70.0), RATE)
    assert centers(pulled) == [WEST]
    (finding,) = pulled.observations
    assert (finding.severity, bool(finding.held)) == (Severity.WARNING, True)


def test_without_requests_there_is_no_mean_and_nothing_to_worry_about() -> None:
    pulled = pull(both("response_time_ms", math.nan, 70.0), both("request_rate_rps", 0.0, 20.0))
    assert centers(pulled) == [WEST]
    assert [one.severity for one in pulled.observations] == [Severity.INFO]


def test_two_series_for_one_pair_are_one_finding_and_neither_counts() -> None:
    twice = replace(RATE, points=(*RATE.points, point(1.0)))
    pulled = pull(TIME, twice)
    assert centers(pulled) == [WEST]
    assert found(pulled) == [
        ("source_series_duplicate", f" query/request_rate_rps service/tickets datacenter/{EAST}")
    ]


@pytest.mark.parametrize("away_s", [-61.0, 61.0, math.nan])
def test_an_answer_for_another_time_does_not_count(away_s: float) -> None:
    old = replace(RATE, points=(point(40.0, time_s=NOW_S - away_s), point(20.0, WEST)))
    pulled = pull(TIME, old)
    assert centers(pulled) == [WEST]
    assert [code for code, _ in found(pulled)] == ["source_answer_stale"]


def test_a_series_whose_newest_raw_sample_is_old_does_not_count() -> None:
    pulled = pull(TIME, RATE, both("newest_sample", NOW_S - 121, NOW_S - 120))
    assert centers(pulled) == [WEST]
    assert found(pulled) == [
        ("source_series_stale", f" query/newest_sample service/tickets datacenter/{EAST}")
    ]


def test_an_unknown_age_costs_nothing_but_is_told() -> None:
    pulled = pull(TIME, RATE, replace(NEWEST, points=(point(math.nan), point(NOW_S, WEST))))
    assert centers(pulled) == [EAST, WEST]
    assert [code for code, _ in found(pulled)] == ["source_value_not_finite"]


def test_names_that_the_fleet_does_not_declare_are_one_finding() -> None:
    strange = tuple(point(1.0, service=f"other-{n}") for n in range(40))
    pulled = pull(replace(TIME, points=(*TIME.points, *strange)), RATE)
    assert centers(pulled) == [EAST, WEST]
    (finding,) = pulled.observations
    assert (finding.code, finding.subject) == ("source_names_unknown", "source/main")
    assert finding.message.startswith("40 pairs")
    assert len(finding.message) < 500


def test_series_without_their_labels_are_one_finding_for_the_query() -> None:
    nameless = (point(1.0, service=""), point(2.0, datacenter=""))
    pulled = pull(replace(TIME, points=(*TIME.points, *nameless)), RATE)
    assert centers(pulled) == [EAST, WEST]
    assert found(pulled) == [("source_labels_missing", " query/response_time_ms")]


def test_a_series_that_one_query_lacks_is_a_finding() -> None:
    pulled = pull(TIME, RATE, replace(CPU, points=CPU.points[:1]))
    assert centers(pulled) == [EAST, WEST]
    assert found(pulled) == [
        ("source_series_missing", f" query/cpu_avg service/tickets datacenter/{WEST}")
    ]


def test_a_pair_that_vanished_is_a_finding_until_it_is_undeclared() -> None:
    alone = [replace(one, points=one.points[:1]) for one in (TIME, RATE)]
    gone = [("tickets", EAST), ("tickets", WEST), ("former", WEST)]
    pulled = pull(*alone, asked=replace(ASKED, expected=gone))
    assert centers(pulled) == [EAST]
    assert found(pulled) == [("source_series_missing", f" service/tickets datacenter/{WEST}")]


def test_only_an_age_is_no_sample() -> None:
    alone = [replace(one, points=one.points[:1]) for one in (TIME, RATE)]
    pulled = pull(*alone, NEWEST)
    assert centers(pulled) == [EAST]
    assert {code for code, _ in found(pulled)} == {"source_series_missing"}


def test_nothing_at_all_is_one_finding_about_the_source() -> None:
    pulled = pull(
        Answer(reading="request_rate_rps"),
        Answer(reading="response_time_ms"),
        asked=replace(ASKED, expected=[("tickets", EAST)]),
    )
    assert pulled.samples == ()
    assert found(pulled) == [("source_empty", "")]


def test_one_empty_query_is_one_finding() -> None:
    pulled = pull(TIME, RATE, Answer(reading="cpu_avg"))
    assert centers(pulled) == [EAST, WEST]
    assert found(pulled) == [("source_empty", " query/cpu_avg")]


def test_one_failed_query_is_one_finding_and_the_rest_counts() -> None:
    failure = Failure(reading="cpu_avg", code="source_query_refused", message="parse error")
    pulled = pull(TIME, RATE, failures=(failure,))
    assert centers(pulled) == [EAST, WEST]
    assert found(pulled) == [("source_query_refused", " query/cpu_avg")]


def test_a_source_that_is_away_is_one_finding() -> None:
    failures = tuple(
        Failure(reading=reading, code="source_away", message="refused") for reading in QUERIES
    )
    pulled = pull(failures=failures, asked=replace(ASKED, expected=[("tickets", EAST)]))
    assert pulled.samples == ()
    assert found(pulled) == [("source_away", "")]


def test_warnings_are_told_and_cost_nothing() -> None:
    pulled = pull(TIME, replace(RATE, warnings=("one store did not answer", "slow")))
    assert centers(pulled) == [EAST, WEST]
    (finding,) = pulled.observations
    assert (finding.code, finding.severity) == ("source_warning", Severity.INFO)
    assert "one store did not answer; slow" in finding.message


def test_an_answer_that_lacks_data_does_not_count() -> None:
    """A sum over half of the stores is half of the load: partial is not small."""
    half = replace(both("request_rate_rps", 20.0, 10.0), partial=True, warnings=("store away",))
    pulled = pull(TIME, half, replace(CPU, points=(), partial=True, warnings=("x",)))
    assert pulled.samples == ()
    assert found(pulled) == [
        ("source_answer_partial", " query/cpu_avg"),
        ("source_answer_partial", " query/request_rate_rps"),
    ]
    assert "store away" in pulled.observations[1].message


def test_a_thousand_broken_series_are_a_bounded_number_of_findings() -> None:
    services = [builders.service(f"s{n:04}") for n in range(200)]
    fleet = builders.fleet(*services)
    points = tuple(point(math.nan, service=service.name) for service in services)
    pulled = joined(ASKED, [Answer(reading="response_time_ms", points=points)], (), fleet)
    assert len(pulled.observations) == MOST_SERIES_FOUND + 1
    last: Observation = pulled.observations[-1]
    assert (last.code, last.message.split()[0]) == ("source_more_series", "150")


VALUES = st.sampled_from([math.nan, math.inf, 0.0, 0.5, 1.0, 40.0])
POINTS = st.builds(
    Point,
    service=st.sampled_from(["tickets", "other", ""]),
    datacenter=st.sampled_from([EAST, WEST, "nowhere", ""]),
    value=VALUES,
    time_s=st.sampled_from([NOW_S, NOW_S - 30, NOW_S - 100]),
)
ANSWERS = st.fixed_dictionaries({reading: st.lists(POINTS, max_size=5) for reading in QUERIES})


@given(ANSWERS)
def test_a_sample_has_what_was_answered_once_and_nothing_else(
    answers: dict[str, list[Point]],
) -> None:
    pulled = pull(
        *(Answer(reading=reading, points=tuple(points)) for reading, points in answers.items())
    )
    assert len({(one.service, one.datacenter) for one in pulled.samples}) == len(pulled.samples)
    for sample in pulled.samples:
        for reading in QUERIES:
            value = getattr(sample, reading, None)
            told = [
                one.value
                for one in answers[reading]
                if one.pair == (sample.service, sample.datacenter)
            ]
            assert value is None or told == [value]
    kept = {(one.code, one.subject) for one in pulled.observations}
    assert len(kept) == len(pulled.observations)
