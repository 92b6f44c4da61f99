"""What of an overload policy can be carried out."""

from dataclasses import replace

import pytest

from controlplane.domain.admission.overload.policy import (
    LIMITS,
    OverloadPolicy,
    Read,
    check_overload,
)
from controlplane.domain.errors import Invalid

SEATS = Read(path="/shows/{show}/seats", query=("date",))
POLICY = OverloadPolicy(reads=(SEATS,))


def test_the_defaults_can_be_carried_out() -> None:
    check_overload(POLICY)


@pytest.mark.parametrize(("name", "low", "high"), LIMITS)
def test_numbers_outside_their_range_are_refused(name: str, low: float, high: float) -> None:
    for value in (low - 1, high + 1, float("nan")):
        with pytest.raises(Invalid, match=name) as refused:
            check_overload(replace(POLICY, **{name: value}))
        assert refused.value.code == "policy_invalid"


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (Read(path="/a", method="POST"), "only GET and HEAD"),
        (Read(path="a/b"), "must begin with /"),
        (Read(path="/" + "x" * 1_024), "at most 1024"),
        (Read(path="/shows/x{show}"), "one whole segment"),
        (Read(path="/a", query=("date", "date")), "each once"),
        (Read(path="/a", query=tuple(f"q{n}" for n in range(21))), "at most 20"),
        (Read(path="/a", query=("a&b",)), "as it stands in a URL"),
        (Read(path="/a", query=("",)), "as it stands in a URL"),
    ],
)
def test_reads_that_mean_nothing_are_refused(read: Read, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        check_overload(OverloadPolicy(reads=(read,)))


def test_no_read_too_many_and_two_of_one_place_are_refused() -> None:
    with pytest.raises(Invalid, match="reads has 0"):
        check_overload(OverloadPolicy(reads=()))
    with pytest.raises(Invalid, match="reads has 101"):
        check_overload(OverloadPolicy(reads=tuple(Read(path=f"/{n}") for n in range(101))))
    twice = (SEATS, Read(path="/shows/{other}/seats"))
    with pytest.raises(Invalid, match="several reads are GET"):
        check_overload(OverloadPolicy(reads=twice))


def test_one_answer_must_have_room() -> None:
    with pytest.raises(Invalid, match="must have room"):
        check_overload(replace(POLICY, most_bytes=1_000, most_answer_bytes=1_001))
