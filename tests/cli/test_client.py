"""The HTTP client: problems become errors, events are read, nothing shows the token."""

from collections.abc import Callable, Iterator

import httpx
import pytest

from controlplane.cli.client import Client
from controlplane.cli.target import Target
from controlplane.domain import errors

SECRET = "sbx_secret"


def client(answer: Callable[[httpx.Request], httpx.Response]) -> Client:
    target = Target(url="http://signalbox.test", token=SECRET)
    return Client(target, transport=httpx.MockTransport(answer))


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, errors.Refused),
        (403, errors.Refused),
        (404, errors.NotFound),
        (409, errors.Conflict),
        (412, errors.Conflict),
        (413, errors.Invalid),
        (422, errors.Invalid),
        (429, errors.Retryable),
        (500, errors.ControlPlaneError),
        (502, errors.Rejected),
        (503, errors.Retryable),
    ],
)
def test_a_status_is_a_kind(status: int, kind: type[errors.ControlPlaneError]) -> None:
    problem = {"code": "c", "detail": "words", "errors": [1], "details": {"limit": 3}}
    with pytest.raises(errors.ControlPlaneError) as caught:
        client(lambda _: httpx.Response(status, json=problem)).get("/v1/x")
    assert type(caught.value) is kind
    assert (caught.value.code, caught.value.message) == ("c", "words")
    assert caught.value.details == {"errors": [1], "limit": 3}


@pytest.mark.parametrize("body", [b"<html>bad gateway</html>", b"[1]", b""])
def test_a_proxy_that_speaks_no_problem_is_understood(body: bytes) -> None:
    with pytest.raises(errors.Rejected) as caught:
        client(lambda _: httpx.Response(502, content=body)).get("/v1/x")
    assert (caught.value.code, caught.value.message) == ("http_502", "Bad Gateway")


def test_what_is_no_answer_of_ours_is_an_error() -> None:
    with pytest.raises(errors.Invalid, match="signalbox server"):
        client(lambda _: httpx.Response(200, content=b"<html>")).get("/v1/x")
    with pytest.raises(errors.ControlPlaneError, match="Temporary Redirect"):
        client(lambda _: httpx.Response(307, headers={"Location": "/"})).get("/v1/x/")


def test_a_connection_that_fails_can_be_tried_again() -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    with pytest.raises(errors.Retryable) as caught:
        client(fail).get("/v1/x")
    assert SECRET not in str(caught.value)


def test_what_is_not_given_is_not_sent() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(204)

    body = client(answer).send("DELETE", "/v1/x", params={"reason": None, "force": "true"})
    assert body is None
    assert str(seen[0].url) == "http://signalbox.test/v1/x?force=true"
    assert seen[0].headers["Authorization"] == f"Bearer {SECRET}"


def test_events_are_read_and_comments_are_not() -> None:
    stream = (
        b": alive\n\nid: 7\nevent: snapshot\ndata: {\ndata: }\n\ndata:x\n\n: alive\n\nid: 8\n\n"
    )
    events = list(client(lambda _: httpx.Response(200, content=stream)).events("/v1/watch"))
    assert [(e.id, e.name, e.data) for e in events] == [
        ("7", "snapshot", "{\n}"),
        ("", "message", "x"),
    ]


def test_a_stream_that_is_refused_is_an_error() -> None:
    refused = client(lambda _: httpx.Response(403, json={"code": "forbidden", "detail": "no"}))
    with pytest.raises(errors.Refused, match="no"):
        list(refused.events("/v1/watch"))
    with pytest.raises(errors.Refused, match="no"):
        list(refused.download("/v1/x", "text/csv"))


def test_the_token_is_not_part_of_a_target_that_is_shown() -> None:
    assert SECRET not in repr(Target(url="http://signalbox.test", token=SECRET))


class Broken(httpx.SyncByteStream):
    """A stream whose server goes away in the middle."""

    def __iter__(self) -> Iterator[bytes]:
        yield b"event: snapshot\ndata: {}\n\n"
        raise httpx.RemoteProtocolError("peer closed connection")


def test_a_server_that_goes_away_in_a_stream_can_be_tried_again() -> None:
    caller = client(lambda _: httpx.Response(200, stream=Broken()))
    events = caller.events("/v1/watch")
    assert next(events).name == "snapshot"
    with pytest.raises(errors.Retryable, match="peer closed"):
        next(events)
    with pytest.raises(errors.Retryable, match="peer closed"):
        list(caller.download("/v1/x", "text/csv"))


def test_a_list_is_read_page_by_page_unless_a_limit_is_given() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        cursor = int(request.url.params.get("cursor", 0))
        following = str(cursor + 1) if cursor < 2 else None
        return httpx.Response(200, json={"items": [cursor], "next": following})

    assert client(answer).items("/v1/x", {"service": "a"}) == [0, 1, 2]
    assert client(answer).items("/v1/x", {"limit": 1}) == [0]


def test_without_a_token_it_says_where_the_token_goes() -> None:
    def answer(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(401, json={"code": "unauthenticated", "detail": "send the header"})

    nobody = Client(Target(url="http://signalbox.test", token=None), httpx.MockTransport(answer))
    with pytest.raises(errors.Refused, match="SIGNALBOX_TOKEN"):
        nobody.get("/v1/x")
    with pytest.raises(errors.Refused, match="send the header"):
        client(answer).get("/v1/x")


def test_a_list_that_tells_more_is_read_to_its_end_too() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        cursor = int(request.url.params.get("cursor", "0"))
        after = str(cursor + 1) if cursor < 2 else None
        return httpx.Response(200, json={"items": [cursor], "next": after, "revision": 7})

    whole = client(answer).whole("/v1/gateways")
    assert whole == {"items": [0, 1, 2], "next": None, "revision": 7}
    assert client(answer).items("/v1/x") == [0, 1, 2]
    assert client(answer).items("/v1/x", {"limit": 1}) == [0]
