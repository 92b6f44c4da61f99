"""Asks a Prometheus, or what speaks its HTTP API, one instant query at a time.

Called by `engine.samples.pull`, which owns deadlines and joins the answers. Outgoing addresses are
those of the fleet; redirects, proxies of the environment and .netrc are not followed, and a
credential goes to the origin only for which the settings name it. Answers are read up to a limit of
bytes and series, and never trusted to be of the right shape.
"""

import asyncio
import math
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import orjson

from controlplane.domain.errors import ControlPlaneError, Invalid, Refused, Retryable
from controlplane.domain.sources import Answer, DeclaredSource, Point

# An answer above this takes more than 10 ms to read, so it leaves the event loop.
LARGE_BYTES = 200_000
MOST_WORDS = 200
MOST_WARNINGS = 3
MOST_LABEL = 200
QUERY = "/api/v1/query"
# Prometheus' own kinds of error that say that the question is wrong.
WRONG_QUESTION = frozenset({"bad_data", "execution"})
# Warnings about the expression begin so; the others are about data that could not be read
# (remote read, a store of Thanos).
ABOUT_THE_QUESTION = "PromQL "


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """Where a bearer token is kept, and whom alone it is for.

    Attributes:
        origin: scheme, host and port of the source: `https://prometheus.internal:9090`.
        token: the token itself, read from the environment at start; or
        token_file: a file that has it, read before each query, so that it may rotate.
    """

    origin: str
    token: str = field(default="", repr=False)
    token_file: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PrometheusOptions:
    """Limits of one answer, and the credentials by name.

    Attributes:
        timeout_s: told to the server, so that it gives up when we do, > 0.
    """

    timeout_s: float
    most_bytes: int
    most_series: int
    credentials: Mapping[str, Credential] = field(default_factory=dict)


class Prometheus:
    """MetricSource for Prometheus' HTTP API."""

    name = "prometheus"

    def __init__(self, options: PrometheusOptions) -> None:
        self._options = options
        self._client: httpx.AsyncClient | None = None

    async def read(self, source: DeclaredSource, reading: str, time_s: float) -> Answer:
        """One answer for `time_s` (UTC epoch seconds).

        Raises:
            Retryable: `source_away`, `source_http_error`.
            Refused: `source_credential_unusable`.
            Invalid: `source_query_refused`, or an answer that is unreadable or too large.
        """
        params = {
            "query": dict(source.queries)[reading],
            "time": f"{time_s:.3f}",
            "timeout": f"{math.ceil(self._options.timeout_s * 1000)}ms",
        }
        try:
            # What is not compressed cannot unfold in memory.
            headers = {"Accept-Encoding": "identity", **await self._authorization(source)}
            request = self._opened().build_request(
                "GET", f"{source.url}{QUERY}", params=params, headers=headers
            )
            status, body = await self._exchange(request)
        # Names that no resolver can be asked for are a UnicodeError.
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            words = _words(error) or type(error).__name__
            raise Retryable("source_away", f"no answer: {words}") from error
        if len(body) > LARGE_BYTES:
            return await asyncio.to_thread(self._answer, source, reading, status, body)
        return self._answer(source, reading, status, body)

    async def close(self) -> None:
        """End all connections."""
        if self._client is not None:
            await self._client.aclose()

    def _opened(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = httpx.AsyncClient(
                # OpenSSL's own store, which an operator extends with the site's authority.
                verify=ssl.create_default_context(),
                # The engine's deadline bounds the whole exchange, however slowly it drips.
                timeout=None,
                follow_redirects=False,
                trust_env=False,
            )
        return self._client

    async def _exchange(self, request: httpx.Request) -> tuple[int, bytes]:
        response = await self._opened().send(request, stream=True)
        try:
            encoding = response.headers.get("content-encoding", "identity")
            if encoding != "identity":
                raise _unreadable(f"it is encoded as {_words(encoding)}, which was not asked for")
            body = bytearray()
            async for part in response.aiter_raw():
                body += part
                if len(body) > self._options.most_bytes:
                    raise Invalid(
                        "source_answer_too_large",
                        f"the answer has more than {self._options.most_bytes} bytes: aggregate "
                        "by service and data center, or raise SIGNALBOX_SOURCE_MOST_BYTES",
                    )
            return response.status_code, bytes(body)
        finally:
            await response.aclose()

    async def _authorization(self, source: DeclaredSource) -> dict[str, str]:
        if not source.credential:
            return {}
        credential = self._options.credentials.get(source.credential)
        if credential is None:
            raise _unusable(source, "is not in SIGNALBOX_SOURCE_CREDENTIALS")
        if _origin(credential.origin) != _origin(source.url):
            raise _unusable(source, "is for another origin than the source's")
        token = credential.token
        if credential.token_file is not None:
            try:
                token = (await asyncio.to_thread(credential.token_file.read_text)).strip()
            except (OSError, UnicodeDecodeError) as error:
                raise _unusable(source, "has a token file that cannot be read") from error
        if not token or not token.isascii() or not token.isprintable():
            raise _unusable(source, "is empty, or no token")
        return {"Authorization": f"Bearer {token}"}

    def _answer(self, source: DeclaredSource, reading: str, status: int, body: bytes) -> Answer:
        content = _content(status, body)
        if status != httpx.codes.OK or content.get("status") != "success":
            raise _refusal(status, content)
        data = content.get("data")
        kind = data.get("resultType") if isinstance(data, dict) else None
        series = data.get("result") if isinstance(data, dict) else None
        if kind != "vector" or not isinstance(series, list):
            raise _unreadable(f"it is a {_words(kind)}; the query must give an instant vector")
        if len(series) > self._options.most_series:
            raise Invalid(
                "source_too_many_series",
                f"the answer has {len(series)} series, the limit is {self._options.most_series}: "
                "aggregate by service and data center, or raise SIGNALBOX_SOURCE_MOST_SERIES",
            )
        labels = (source.service_label, source.datacenter_label)
        warnings = _warnings(content.get("warnings"))
        return Answer(
            reading=reading,
            points=tuple(_point(item, labels) for item in series),
            warnings=warnings[:MOST_WARNINGS],
            partial=any(not one.startswith(ABOUT_THE_QUESTION) for one in warnings),
        )


def _content(status: int, body: bytes) -> dict[str, object]:
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        if status != httpx.codes.OK:
            return {}
        raise _unreadable(f"it is not JSON: {_words(str(error))}") from error
    if not isinstance(content, dict):
        raise _unreadable("it is not an object")
    return content


def _refusal(status: int, content: Mapping[str, object]) -> ControlPlaneError:
    kind, words = content.get("errorType"), _words(content.get("error", ""))
    if kind in WRONG_QUESTION:
        return Invalid("source_query_refused", f"the source refuses the query: {words}")
    hint = {
        301: "redirects are not followed: name the address that it leads to",
        302: "redirects are not followed: name the address that it leads to",
        307: "redirects are not followed: name the address that it leads to",
        308: "redirects are not followed: name the address that it leads to",
        401: "check the source's credential",
        403: "check the source's credential",
        404: "check the path of the source's url",
    }.get(status, "look at the source")
    return Retryable("source_http_error", f"status {status}: {words or hint}")


def _point(item: object, labels: tuple[str, str]) -> Point:
    """One series; what cannot be read of it is not-a-number, which the join reports."""
    series = item if isinstance(item, dict) else {}
    metric = series.get("metric")
    names = [_label(metric, label) for label in labels]
    pair = series.get("value")
    time_s, value = pair if isinstance(pair, list) and len(pair) == 2 else (math.nan, "")
    return Point(
        service=names[0], datacenter=names[1], value=_number(value), time_s=_number(time_s)
    )


def _label(metric: object, name: str) -> str:
    value = metric.get(name) if isinstance(metric, dict) else None
    return value[:MOST_LABEL] if isinstance(value, str) else ""


def _number(value: object) -> float:
    if not isinstance(value, str | int | float):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


def _warnings(value: object) -> tuple[str, ...]:
    words = value if isinstance(value, list) else []
    return tuple(_words(one) for one in words)


def _words(value: object) -> str:
    """Somebody else's words, short and on one line."""
    text = "".join(c if c.isprintable() else " " for c in str(value)[: 2 * MOST_WORDS])
    return text if len(text) <= MOST_WORDS else f"{text[:MOST_WORDS]}..."


def _origin(url: str) -> tuple[str, str, int | None]:
    parsed = httpx.URL(url)
    usual = {"http": 80, "https": 443}.get(parsed.scheme)
    return parsed.scheme, parsed.host, parsed.port or usual


def _unreadable(problem: str) -> Invalid:
    return Invalid("source_answer_unreadable", f"the answer cannot be read: {problem}")


def _unusable(source: DeclaredSource, problem: str) -> Refused:
    return Refused("source_credential_unusable", f"credential {source.credential} {problem}")
