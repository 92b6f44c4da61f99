"""The adapter against a server on loopback that answers what a test tells it, byte by byte."""

import asyncio
import contextlib
import json
import math
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest

from controlplane.adapters.prometheus import Credential, Prometheus, PrometheusOptions
from controlplane.domain.errors import ControlPlaneError, Invalid, Refused, Retryable
from controlplane.domain.sources import DeclaredSource, Point

Write = Callable[[asyncio.StreamWriter], object]
OPTIONS = PrometheusOptions(timeout_s=5.0, most_bytes=2_000, most_series=8)
SECRET = "s3cr3t"


@dataclass(slots=True)
class Server:
    """Answers each connection with `answer`, and remembers the heads that it got."""

    answer: bytes = b""
    drip_s: float | None = None
    heads: list[str] = field(default_factory=list)
    url: str = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head.decode())
            if self.drip_s is None:
                writer.write(self.answer)
            else:
                for byte in self.answer:
                    writer.write(bytes([byte]))
                    await writer.drain()
                    await asyncio.sleep(self.drip_s)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def says(self, body: object, status: str = "200 OK", *headers: str) -> None:
        content = body if isinstance(body, bytes) else orjson.dumps(body)
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(content)}", "Connection: close"]
        self.answer = "\r\n".join((*lines, *headers, "", "")).encode() + content

    @property
    def query(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.heads[-1].split()[1]).query)


@asynccontextmanager
async def serving() -> AsyncIterator[Server]:
    server = Server()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    async with listening:
        yield server


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as running:
        yield running


@asynccontextmanager
async def asking(options: PrometheusOptions = OPTIONS) -> AsyncIterator[Prometheus]:
    adapter = Prometheus(options)
    try:
        yield adapter
    finally:
        await adapter.close()


def source(server: Server, **changes: str) -> DeclaredSource:
    declared = DeclaredSource(
        name="main", url=server.url, queries=(("cpu_avg", 'avg by (x) (cpu{a="b"})'),)
    )
    return replace(declared, **changes)  # type: ignore[arg-type]


def series(value: object = "0.5", time_s: object = 100.0, **labels: object) -> dict[str, object]:
    return {"metric": {"service": "s", "datacenter": "d"} | labels, "value": [time_s, value]}


def vector(*items: object, **more: object) -> dict[str, object]:
    data = {"resultType": "vector", "result": list(items)}
    return {"status": "success", "data": data, **more}


async def fails(server: Server, kind: type[ControlPlaneError], code: str, **changes: str) -> str:
    async with asking() as adapter:
        with pytest.raises(ControlPlaneError) as caught:
            await adapter.read(source(server, **changes), "cpu_avg", 100.0)
    assert (type(caught.value), caught.value.code) == (kind, code), caught.value.message
    assert len(caught.value.message) < 600
    assert caught.value.message.isprintable()
    return caught.value.message


async def test_a_vector_is_read_and_the_question_is_what_was_declared(server: Server) -> None:
    server.says(vector(series(), series("1e-3", 99.5, datacenter="e"), warnings=["w"] * 9))
    async with asking() as adapter:
        answer = await adapter.read(source(server, url=f"{server.url}/base"), "cpu_avg", 100.0004)
    assert answer.points == (
        Point(service="s", datacenter="d", value=0.5, time_s=100.0),
        Point(service="s", datacenter="e", value=0.001, time_s=99.5),
    )
    assert (answer.warnings, answer.partial) == (("w", "w", "w"), True)
    assert server.heads[-1].startswith("GET /base/api/v1/query?")
    assert "authorization" not in server.heads[-1].lower()
    assert server.query == {
        "query": ['avg by (x) (cpu{a="b"})'],
        "time": ["100.000"],
        "timeout": ["5000ms"],
    }


@pytest.mark.parametrize(
    ("warnings", "partial"),
    [
        ([], False),
        (["PromQL warning: a mix of histograms and floats"], False),
        (["PromQL info: x"] * 5 + ["remote read: no answer"], True),
        ("nonsense", False),
        ([None], True),
    ],
)
async def test_warnings_tell_whether_data_was_out_of_reach(
    server: Server, warnings: object, partial: bool
) -> None:
    server.says(vector(series(), warnings=warnings))
    async with asking() as adapter:
        answer = await adapter.read(source(server), "cpu_avg", 100.0)
    assert answer.partial is partial
    assert len(answer.points) == 1


async def test_labels_have_the_declared_names(server: Server) -> None:
    server.says(vector(series(app="shop", zone="east")))
    async with asking() as adapter:
        declared = source(server, service_label="app", datacenter_label="zone")
        (point,) = (await adapter.read(declared, "cpu_avg", 100.0)).points
    assert point.pair == ("shop", "east")


@pytest.mark.parametrize(("value", "read"), [("+Inf", math.inf), ("-Inf", -math.inf), ("7", 7.0)])
async def test_numbers_are_texts(server: Server, value: str, read: float) -> None:
    server.says(vector(series(value)))
    async with asking() as adapter:
        (point,) = (await adapter.read(source(server), "cpu_avg", 100.0)).points
    assert point.value == read


@pytest.mark.parametrize(
    "item",
    [
        series("NaN"),
        series("many"),
        series(None),
        series("9" * 400 + "x"),
        {"metric": {}, "value": [1, "1", 2]},
        {"metric": {}, "histogram": [1, {}]},
        {"value": "x"},
        {"metric": [], "value": [1, {}]},
        7,
        None,
    ],
)
async def test_one_strange_series_is_no_number_and_the_rest_is_read(
    server: Server, item: object
) -> None:
    server.says(vector(item, series()))
    async with asking() as adapter:
        bad, good = (await adapter.read(source(server), "cpu_avg", 100.0)).points
    assert math.isnan(bad.value)
    assert good.value == 0.5


async def test_a_series_without_labels_has_empty_ones(server: Server) -> None:
    server.says(vector(series(service=None), {"metric": {}, "value": [1, "1"]}))
    async with asking() as adapter:
        points = (await adapter.read(source(server), "cpu_avg", 100.0)).points
    assert [point.pair for point in points] == [("", "d"), ("", "")]


@pytest.mark.parametrize("kind", ["bad_data", "execution"])
async def test_a_refused_question_tells_the_sources_own_words(server: Server, kind: str) -> None:
    words = "parse error:\n unclosed \x1b[31m parenthesis " + "x" * 5_00
    server.says({"status": "error", "errorType": kind, "error": words}, "400 Bad Request")
    message = await fails(server, Invalid, "source_query_refused")
    assert "parse error" in message


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        ("503 X", {"status": "error", "errorType": "timeout", "error": "too slow"}, "too slow"),
        ("500 X", b"", "500"),
        ("502 X", b"<html>", "502"),
        ("401 X", b"no", "credential"),
        ("404 X", b"[]", "object"),
        ("302 X", b"", "redirects"),
        ("200 OK", {"status": "error", "errorType": "internal", "error": "odd"}, "odd"),
        ("204 No Content", b"", "204"),
    ],
)
async def test_an_error_status_is_told(
    server: Server, status: str, body: object, words: str
) -> None:
    server.says(body, status)
    kind: type[ControlPlaneError] = Invalid if words == "object" else Retryable
    code = "source_answer_unreadable" if words == "object" else "source_http_error"
    assert words in await fails(server, kind, code)


async def test_a_redirect_is_not_followed(server: Server) -> None:
    async with serving() as other:
        other.says(vector(series()))
        server.says(b"", "307 X", f"Location: {other.url}/api/v1/query")
        await fails(server, Retryable, "source_http_error")
        assert other.heads == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b"7",
        b"[" * 1_500,
        {"status": "success"},
        {"status": "success", "data": []},
        {"status": "success", "data": {"resultType": "scalar", "result": [1, "1"]}},
        {"status": "success", "data": {"resultType": "matrix", "result": []}},
        {"status": "success", "data": {"resultType": "vector", "result": {}}},
    ],
)
async def test_an_answer_of_another_shape_is_unreadable(server: Server, body: object) -> None:
    server.says(body)
    await fails(server, Invalid, "source_answer_unreadable")


async def test_a_compressed_answer_is_not_unfolded(server: Server) -> None:
    server.says(vector(series()), "200 OK", "Content-Encoding: gzip")
    await fails(server, Invalid, "source_answer_unreadable")
    assert "accept-encoding: identity" in server.heads[-1].lower()


async def test_a_long_answer_is_not_read_to_its_end(server: Server) -> None:
    server.says(b" " * 2_001)
    await fails(server, Invalid, "source_answer_too_large")
    server.answer = b"HTTP/1.1 200 OK\r\n\r\n" + b" " * 5_000_000
    await fails(server, Invalid, "source_answer_too_large")


async def test_too_many_series_are_refused_whole(server: Server) -> None:
    server.says(vector(*[series()] * 8))
    async with asking() as adapter:
        assert len((await adapter.read(source(server), "cpu_avg", 100.0)).points) == 8
    server.says(vector(*[series()] * 9))
    assert "limit is 8" in await fails(server, Invalid, "source_too_many_series")


async def test_a_large_answer_leaves_the_loop_free(server: Server) -> None:
    items = [series(service=f"s{n}") for n in range(4_000)]
    server.says(vector(*items))
    options = replace(OPTIONS, most_bytes=10_000_000, most_series=10_000)
    async with asking(options) as adapter:
        assert len((await adapter.read(source(server), "cpu_avg", 100.0)).points) == 4_000


@pytest.mark.parametrize(
    "answer",
    [b"", b"HTTP/1.1 200", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"],
)
async def test_a_broken_exchange_is_away(server: Server, answer: bytes) -> None:
    server.answer = answer
    await fails(server, Retryable, "source_away")


async def test_nobody_there_is_away() -> None:
    async with serving() as server:
        pass
    await fails(server, Retryable, "source_away")


async def test_a_name_that_cannot_be_is_away(server: Server) -> None:
    await fails(server, Retryable, "source_away", url="http://no-such-host.invalid")
    await fails(server, Retryable, "source_away", url="http://xn--" + "a" * 80)


async def test_an_answer_that_drips_ends_with_the_callers_deadline(server: Server) -> None:
    server.says(vector(series()))
    server.drip_s = 0.05
    async with asking() as adapter:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await adapter.read(source(server), "cpu_avg", 100.0)


def keyed(server: Server, **credential: object) -> PrometheusOptions:
    known = {"origin": server.url, **credential}
    return replace(OPTIONS, credentials={"reader": Credential(**known)})  # type: ignore[arg-type]


async def test_a_token_goes_to_its_origin_and_a_file_may_rotate(
    server: Server, tmp_path: Path
) -> None:
    server.says(vector(series()))
    asked = source(server, credential="reader")
    async with asking(keyed(server, token=SECRET)) as adapter:
        await adapter.read(asked, "cpu_avg", 100.0)
    assert f"Authorization: Bearer {SECRET}" in server.heads[-1]
    file = tmp_path / "token"
    async with asking(keyed(server, token_file=file)) as adapter:
        for token in ("first", "second"):
            file.write_text(f"{token}\n")
            await adapter.read(asked, "cpu_avg", 100.0)
            assert f"Authorization: Bearer {token}\r\n" in server.heads[-1]


@pytest.mark.parametrize(
    "credential",
    [
        {"token": SECRET, "origin": "http://127.0.0.1:1"},
        {"token": SECRET, "origin": "https://127.0.0.1"},
        {"token": ""},
        {"token": f"{SECRET}\r\nX: y"},
        {"token_file": Path("/no/such/file")},
    ],
)
async def test_a_credential_that_cannot_be_used_is_not_sent(
    server: Server, credential: dict[str, object]
) -> None:
    async with asking(keyed(server, **credential)) as adapter:
        with pytest.raises(Refused, match="reader") as caught:
            await adapter.read(source(server, credential="reader"), "cpu_avg", 100.0)
        with pytest.raises(Refused):
            await adapter.read(source(server, credential="other"), "cpu_avg", 100.0)
    assert caught.value.code == "source_credential_unusable"
    assert SECRET not in caught.value.message
    assert server.heads == []
    assert SECRET not in repr(Credential(origin="x", token=SECRET))


async def test_the_environment_sends_nobody_elsewhere(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    server.says(vector(series()))
    async with asking() as adapter:
        assert (await adapter.read(source(server), "cpu_avg", 100.0)).points


def _shaken(chance: random.Random, value: object) -> object:
    """A JSON value with parts of it replaced by something else."""
    if chance.random() < 0.15:
        odd = (None, [], {}, "", "x", -1, 1e308, True, [[]], "NaN", {"metric": 1}, 2**70)
        return chance.choice(odd)
    if isinstance(value, dict):
        return {key: _shaken(chance, item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shaken(chance, item) for item in value]
    return value


async def test_whatever_comes_back_is_an_answer_or_an_error_of_ours(server: Server) -> None:
    chance = random.Random(11)
    good = vector(series(), series("NaN", datacenter="e"), warnings=["w"])
    answered = 0
    async with asking() as adapter:
        for _ in range(300):
            body = json.dumps(_shaken(chance, good)).encode()
            if chance.random() < 0.2:
                body = body[: chance.randrange(len(body) + 1)]
            server.says(body, chance.choice(["200 OK", "200 OK", "400 X", "503 X"]))
            with contextlib.suppress(ControlPlaneError):
                answer = await adapter.read(source(server), "cpu_avg", 100.0)
                answered += 1
                assert all(isinstance(point.value, float) for point in answer.points)
                assert all(isinstance(point.service, str) for point in answer.points)
    assert answered > 50
