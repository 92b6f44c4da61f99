"""Whose answer may be given to others."""

import pytest

from controlplane.domain.admission.overload.sharing import kept, shareable


@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [
        (200, (("Content-Type", "text/html"),), True),
        (404, (), True),
        (200, (("Cache-Control", "max-age=60, public"), ("Vary", "Accept-Encoding")), True),
        (206, (), False),
        (302, (), False),
        (401, (), False),
        (500, (), False),
        (200, (("Set-Cookie", "a=1"),), False),
        (200, (("Content-Encoding", "gzip"),), False),
        (200, (("Cache-Control", "max-age=5, Private=set"),), False),
        (200, (("cache-control", "no-store"),), False),
        (200, (("Vary", "Accept-Encoding, Cookie"),), False),
        (200, (("Vary", "*"),), False),
    ],
)
def test_what_is_for_one_reader_is_not_given_to_others(
    status: int, headers: tuple[tuple[str, str], ...], expected: bool
) -> None:
    assert shareable(status, headers) is expected


def test_headers_of_one_connection_are_not_kept() -> None:
    headers = (("Content-Type", "text/html"), ("Connection", "close"), ("Content-Length", "3"))
    assert kept(headers) == (("Content-Type", "text/html"),)
