"""Which declared read a request is, and what is sent for everybody."""

import pytest

from controlplane.domain.admission.overload.policy import Read
from controlplane.domain.admission.overload.reads import Reads
from controlplane.domain.routing.matching.request import Request

READS = Reads.of((Read(path="/shows/{show}/seats", query=("date", "hall")), Read(path="/halls")))


def of(target: str, method: str = "GET", **headers: str) -> Request:
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    request = Request.of(target, method=method, host="Seats.Example:8080", headers=pairs)
    assert isinstance(request, Request)
    return request


def test_the_key_is_host_path_and_declared_arguments_in_declared_order() -> None:
    wanted = READS.wanted(of("/shows/7/seats?hall=2&utm=x&date=1"))
    assert wanted is not None
    assert wanted.key == "GET seats.example /shows/7/seats?date=1&hall=2"
    assert wanted.request == Request(
        path="/shows/7/seats", host="seats.example", query="date=1&hall=2"
    )
    assert not wanted.plain


def test_every_value_of_an_argument_belongs_to_the_key() -> None:
    keys = {
        wanted.key
        for query in ("date=1&date=2", "date=2&date=1", "date=1")
        if (wanted := READS.wanted(of(f"/shows/7/seats?{query}"))) is not None
    }
    assert len(keys) == 3


@pytest.mark.parametrize(
    "request_",
    [
        of("/shows/7"),
        of("/shows/7/seats/A1"),
        of("/shows/7/seats", method="POST"),
        of("/shows/7/seats", method="HEAD"),
        of("/halls", content_length="3"),
        of("/halls", transfer_encoding="chunked"),
    ],
)
def test_what_is_not_declared_or_has_a_body_is_no_read(request_: Request) -> None:
    assert READS.wanted(request_) is None


def test_only_a_request_like_everybodys_has_everybodys_answer() -> None:
    plain = READS.wanted(of("/halls", user_agent="x", sec_fetch_mode="cors", content_length="0"))
    assert plain is not None
    assert plain.plain
    for name in ("cookie", "authorization", "range", "if_none_match", "x_original_url"):
        wanted = READS.wanted(of("/halls", **{name: "x"}))
        assert wanted is not None
        assert not wanted.plain
