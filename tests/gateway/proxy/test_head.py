"""A head is judged once, and what two readers could take differently is refused."""

import ipaddress

import pytest

from gateway.proxy.head import Fault, Head, Judged, Terms, judged

TERMS = Terms(
    trusted=(ipaddress.ip_network("10.0.0.0/8"),), most_header_bytes=2_000, most_body_bytes=100
)


def head(target: str = "/a", peer: str = "192.0.2.7", **more: object) -> Head:
    headers = more.pop("headers", ((b"Host", b"x.example"),))
    return Head(
        **{"method": "GET", "version": (1, 1), "request_id": "id-1"} | more,  # type: ignore[arg-type]
        target=target,
        headers=headers,  # type: ignore[arg-type]
        peer=peer,
    )


def lines(*given: tuple[bytes, bytes]) -> tuple[tuple[bytes, bytes], ...]:
    return ((b"Host", b"x.example"), *given)


def meant(given: Head) -> Judged:
    found = judged(given, TERMS)
    assert isinstance(found, Judged), found
    return found


def test_one_spelling_and_one_line_for_each_header() -> None:
    found = meant(
        head(
            "/a/%7eb/../c//d?q=%41",
            headers=(
                (b"HOST", b"X.Example:8080"),
                (b"X-A", b"1"),
                (b"x-a", b" 2\t"),
                (b"Cookie", b"a=1"),
                (b"cookie", b"b=2"),
                (b"X_A", b"3"),
                (b"Connection", b"keep-alive, X-Gone"),
                (b"X-Gone", b"1"),
                (b"TE", b"trailers"),
            ),
        )
    )
    request = found.request
    assert (request.path, request.query, request.host) == ("/a/c/d", "q=%41", "x.example")
    assert request.headers == {
        "host": "x.example:8080",
        "x-a": "1,2",
        "cookie": "a=1; b=2",
        "x-request-id": "id-1",
        "x-forwarded-for": "192.0.2.7",
        "x-forwarded-proto": "http",
        "x-forwarded-host": "x.example:8080",
    }
    assert found.length == 0


def test_the_body_is_framed_in_one_way() -> None:
    assert meant(head(headers=lines((b"Content-Length", b"7")))).length == 7
    assert meant(head(headers=lines((b"Transfer-Encoding", b"Chunked")))).length is None
    assert meant(head(headers=lines((b"Expect", b"100-Continue")))).expects


@pytest.mark.parametrize(
    ("given", "status", "reason"),
    [
        (head(version=(0, 9)), 400, "version_not_supported"),
        (head(method="CONNECT"), 405, "method_not_supported"),
        (head(method="TRACE"), 405, "method_not_supported"),
        (head("http://x/a"), 400, "target_not_a_path"),
        (head("*"), 400, "target_not_a_path"),
        (head("/a?b=%zz"), 400, "query_has_bad_characters"),
        (head("/a?b#c"), 400, "query_has_bad_characters"),
        (head("/a%2fb"), 400, "path has an escaped slash or backslash"),
        (head("/" + "a" * 9_000), 414, "path is too long"),
        (head(headers=()), 400, "host_invalid"),
        (head(headers=lines((b"host", b"y"))), 400, "host_invalid"),
        (head(headers=((b"Host", b"a@b"),)), 400, "host_invalid"),
        (head(headers=lines((b"X-A", b"a\x00b"))), 400, "header_invalid"),
        (head(headers=lines((b"X-A", b"\xe4"))), 400, "header_invalid"),
        (head(headers=lines((b"X A", b"b"))), 400, "header_invalid"),
        (head(headers=lines((b"X-A", b"b" * 3_000))), 431, "headers_too_large"),
        (
            head(headers=lines((b"Content-Length", b"1"), (b"Transfer-Encoding", b"chunked"))),
            400,
            "length_ambiguous",
        ),
        (
            head(headers=lines((b"Content-Length", b"1"), (b"Content-Length", b"1"))),
            400,
            "length_ambiguous",
        ),
        (head(headers=lines((b"Content-Length", b"+1"))), 400, "length_ambiguous"),
        (head(headers=lines((b"Content-Length", b"101"))), 413, "body_too_large"),
        (head(headers=lines((b"Transfer-Encoding", b"gzip, chunked"))), 400, "transfer_coding"),
        (
            head(headers=lines((b"Transfer-Encoding", b"chunked")), version=(1, 0)),
            400,
            "transfer_coding",
        ),
        (head(headers=lines((b"Connection", b"close, Cookie"))), 400, "connection_names"),
        (head(headers=lines((b"Connection", b"Upgrade"))), 400, "upgrade_not_supported"),
        (head(headers=lines((b"Upgrade", b"h2c"))), 400, "upgrade_not_supported"),
        (head(headers=lines((b"Expect", b"cake"))), 417, "expectation"),
    ],
)
def test_what_means_two_things_is_refused(given: Head, status: int, reason: str) -> None:
    found = judged(given, TERMS)
    assert isinstance(found, Fault)
    assert found.status == status
    assert found.reason.startswith(reason)


def test_what_a_stranger_claims_is_replaced() -> None:
    claims = lines(
        (b"X-Forwarded-For", b"1.1.1.1"),
        (b"X-Forwarded-Proto", b"https"),
        (b"X-Real-IP", b"1.1.1.1"),
        (b"X-Original-URL", b"/admin"),
        (b"Forwarded", b"for=1.1.1.1"),
        (b"X-Request-Id", b"mine"),
    )
    request = meant(head(headers=claims)).request
    assert request.source == "192.0.2.7"
    assert {name: request.headers.get(name) for name in ("x-forwarded-for", "forwarded")} == {
        "x-forwarded-for": "192.0.2.7",
        "forwarded": None,
    }
    assert not {"x-real-ip", "x-original-url"} & request.headers.keys()
    assert (request.headers["x-forwarded-proto"], request.headers["x-request-id"]) == (
        "http",
        "id-1",
    )


@pytest.mark.parametrize(
    ("chain", "source"),
    [
        (b"198.51.100.1", "198.51.100.1"),
        (b"6.6.6.6, 198.51.100.1, 10.1.1.1", "198.51.100.1"),
        (b"10.1.1.1", "10.0.0.9"),
        (b"198.51.100.1, ::ffff:10.1.1.1", "198.51.100.1"),
        (b"2001:db8::7, 10.1.1.1", "2001:db8::7"),
        (b"not an address", "10.0.0.9"),
        (b"", "10.0.0.9"),
    ],
)
def test_a_trusted_proxy_says_who_the_client_is(chain: bytes, source: str) -> None:
    claims = lines(
        (b"X-Forwarded-For", chain), (b"X-Forwarded-Proto", b"HTTPS"), (b"X-Request-Id", b"its-1")
    )
    request = meant(head(headers=claims, peer="10.0.0.9")).request
    assert request.source == source
    assert request.headers["x-forwarded-for"].endswith("10.0.0.9")
    assert request.headers["x-forwarded-proto"] == "https"
    assert request.headers["x-request-id"] == "its-1"
