"""The common suite itself: large enough, the same each time, and right by the naive reference."""

from controlplane.domain.routing.matching.normalization import Refusal
from controlplane.domain.routing.whitelist import refusal
from tests.routing.naive_matcher import winner
from tests.routing.suite import suite

NOW_S = 1_900_000_000.0


def test_it_asks_at_least_400_times_and_is_the_same_each_time() -> None:
    assert suite(NOW_S) == suite(NOW_S)
    cases = suite(NOW_S).cases
    assert len({case.name for case in cases}) == len(cases) >= 400
    assert len({case.sent for case in cases}) >= 400
    assert {case.status for case in cases} == {200, 400, 403, 404, 414}


def test_on_the_host_of_a_whitelist_neither_expressions_nor_the_root_pass() -> None:
    got = {case.name: case.status for case in suite(NOW_S).cases if "whitelist" in case.tags}
    closed = {n: status for n, status in got.items() if "closed.example.com" in n}
    assert {n for n, status in closed.items() if status == 200} == {
        n for n in closed if " /listed " in n
    }
    assert any(" /n7 " in n for n in closed)


def test_the_naive_reference_decides_every_case_alike() -> None:
    drawn = suite(NOW_S)
    routes = [*drawn.routes, *map(refusal, drawn.whitelists)]
    for case in drawn.cases:
        request = case.sent.read()
        if isinstance(request, Refusal):
            assert case.route == ""
            continue
        found = winner(routes, request, NOW_S)
        assert (found.id if found else "") == case.route, case.name
