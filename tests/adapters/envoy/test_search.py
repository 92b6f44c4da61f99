"""Halves of halves, against an Envoy that is a set of bad names."""

import itertools
import math
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from controlplane.adapters.envoy.search import NOT_JUDGED, Search


class Judge:
    def __init__(self, bad: set[str]) -> None:
        self.bad = bad
        self.asked = 0

    async def ask(self, subjects: Sequence[str]) -> str | None:
        self.asked += 1
        found = sorted(self.bad.intersection(subjects))
        return f"no {found[0]}" if found else None


def never() -> bool:
    return False


ALL = [f"route/r{n:03}" for n in range(128)]


@given(st.sets(st.sampled_from(ALL), max_size=4))
async def test_exactly_the_bad_ones_are_found(bad: set[str]) -> None:
    judge = Judge(bad)
    found = await Search(ask=judge.ask, late=never).refused(ALL)
    assert found == {subject: f"no {subject}" for subject in sorted(bad)}
    assert judge.asked <= 1 + 2 * len(bad) * math.log2(len(ALL))


async def test_services_come_before_the_routes_that_need_them() -> None:
    judge = Judge({"service/s", "route/r"})
    found = await Search(ask=judge.ask, late=never).refused(["route/r", "service/s", "service/t"])
    assert set(found) == {"service/s"}


async def test_what_is_refused_only_together_is_nobodys_fault() -> None:
    async def together(subjects: Sequence[str]) -> str | None:
        return "both" if len(subjects) > 1 else None

    assert await Search(ask=together, late=never).refused(ALL[:4]) == {}


async def test_the_rest_is_not_judged_when_questions_or_time_are_up() -> None:
    judge = Judge(set(ALL))
    found = await Search(ask=judge.ask, late=never, questions=5).refused(ALL)
    assert judge.asked == 5
    assert set(found) == set(ALL)
    assert set(found.values()) >= {NOT_JUDGED}
    answers = itertools.chain([False, False], itertools.repeat(True))
    judge = Judge({ALL[-1]})
    found = await Search(ask=judge.ask, late=lambda: next(answers)).refused(ALL)
    assert judge.asked == 2
    assert ALL[-1] in found
    assert ALL[0] not in found


async def test_nothing_to_ask_nothing_asked() -> None:
    judge = Judge(set())
    assert await Search(ask=judge.ask, late=never).refused([]) == {}
    assert judge.asked == 0
