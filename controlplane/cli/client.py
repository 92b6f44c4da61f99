"""The HTTP client of the command line: adds the token, turns problems into errors.

Opened by `connection.connect`, used by every command that talks to the API. Must never retry
and never print the token.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from controlplane.cli.target import Target
from controlplane.domain.errors import (
    Conflict,
    ControlPlaneError,
    Invalid,
    NotFound,
    Refused,
    Rejected,
    Retryable,
)

# Long enough for an upload and for a data set of a month; connecting is quick or hopeless.
TIMEOUT = httpx.Timeout(60.0, connect=5.0)
# Members of an RFC 9457 problem that are not details.
PROBLEM_MEMBERS = frozenset({"type", "title", "status", "detail", "instance", "code", "details"})

KINDS: Mapping[int, type[ControlPlaneError]] = {
    400: Invalid,
    401: Refused,
    403: Refused,
    404: NotFound,
    405: Invalid,
    409: Conflict,
    412: Conflict,
    413: Invalid,
    415: Invalid,
    422: Invalid,
    423: Refused,
    428: Invalid,
    429: Retryable,
    502: Rejected,
    503: Retryable,
    504: Retryable,
}

# A list is the same parameter several times.
Params = Mapping[str, str | int | float | bool | list[str] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """What a request carries: bytes with their media type."""

    content: bytes
    media_type: str = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One server-sent event."""

    id: str
    name: str
    data: str


def json_body(value: object) -> Body:
    """A request body of JSON."""
    return Body(content=json.dumps(value).encode())


class Client:
    """One connection to the API of a running `signalbox serve`."""

    def __init__(self, target: Target, transport: httpx.BaseTransport | None = None) -> None:
        headers = {"Accept": "application/json", "User-Agent": "signalbox-cli"}
        if target.token:
            headers["Authorization"] = f"Bearer {target.token}"
        self._url = target.url
        self._http = httpx.Client(
            base_url=target.url, headers=headers, timeout=TIMEOUT, transport=transport
        )

    def get(self, path: str, params: Params | None = None) -> Any:
        """GET a JSON document; raises the error that the problem stands for."""
        return self._json(self._exchange("GET", path, params=params))

    def items(self, path: str, params: Params | None = None) -> list[Any]:
        """GET the items of a list: so many as `limit` says, else page by page to its end."""
        if "limit" in (params or {}):
            return list(self.get(path, params)["items"])
        return list(self.whole(path, params)["items"])

    def whole(self, path: str, params: Params | None = None) -> dict[str, Any]:
        """GET a list to its end: its first page with the items of all, and what else it tells."""
        first = page = self.get(path, params)
        found = list(first["items"])
        while page.get("next"):
            page = self.get(path, {**(params or {}), "cursor": page["next"]})
            found += page["items"]
        return {**first, "items": found, "next": None}

    def send(
        self,
        method: str,
        path: str,
        *,
        body: Body | None = None,
        params: Params | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Send a body and return the JSON answer, None when there is none."""
        answer = self._exchange(method, path, body=body, params=params, headers=headers)
        return self._json(answer) if answer.content else None

    def text(self, path: str, accept: str) -> str:
        """GET a document of another media type."""
        return self._exchange("GET", path, headers={"Accept": accept}).text

    def download(self, path: str, accept: str, params: Params | None = None) -> Iterator[bytes]:
        """GET a large document piece by piece."""
        request = self._http.build_request(
            "GET", path, params=_given(params), headers={"Accept": accept}
        )
        answer = self._send(request, stream=True)
        try:
            with self._reached():
                yield from answer.iter_bytes()
        finally:
            answer.close()

    def events(self, path: str) -> Iterator[Event]:
        """Follow an event stream until it ends; comments (heartbeats) are skipped."""
        request = self._http.build_request(
            "GET",
            path,
            headers={"Accept": "text/event-stream"},
            timeout=httpx.Timeout(None, connect=5.0),
        )
        answer = self._send(request, stream=True)
        try:
            with self._reached():
                yield from _parse_events(answer.iter_lines())
        finally:
            answer.close()

    def close(self) -> None:
        """End the connection."""
        self._http.close()

    def _exchange(
        self,
        method: str,
        path: str,
        *,
        body: Body | None = None,
        params: Params | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        sent = dict(headers or {})
        if body is not None:
            sent["Content-Type"] = body.media_type
        request = self._http.build_request(
            method,
            path,
            params=_given(params),
            content=None if body is None else body.content,
            headers=sent,
        )
        return self._send(request, stream=False)

    def _send(self, request: httpx.Request, *, stream: bool) -> httpx.Response:
        with self._reached():
            answer = self._http.send(request, stream=stream)
            if not answer.is_success:
                answer.read()
        if not answer.is_success:
            raise self._refusal(answer)
        return answer

    def _refusal(self, answer: httpx.Response) -> ControlPlaneError:
        if answer.status_code == httpx.codes.UNAUTHORIZED and "Authorization" not in (
            self._http.headers
        ):
            return Refused(
                "unauthenticated",
                "no token; set SIGNALBOX_TOKEN, or name its file with --token-file",
            )
        return problem(answer)

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """Turn a connection that fails, also in the middle of a stream, into our error."""
        try:
            yield
        except httpx.TransportError as error:
            raise Retryable(
                "server_unreachable",
                f"no answer from {self._url} ({str(error) or type(error).__name__}); start it with "
                "`signalbox serve`, or name another with --url or SIGNALBOX_URL",
            ) from error

    def _json(self, answer: httpx.Response) -> Any:
        try:
            return answer.json()
        except ValueError as error:
            raise Invalid(
                "answer_unreadable",
                f"{self._url} answered with something that is not JSON; is it a signalbox server? "
                "name another with --url or SIGNALBOX_URL",
            ) from error


def _given(params: Params | None) -> dict[str, str | int | float | bool | list[str]] | None:
    """The parameters that have a value; None without any."""
    return {name: value for name, value in (params or {}).items() if value is not None} or None


def problem(answer: httpx.Response) -> ControlPlaneError:
    """The error that a problem document (RFC 9457) stands for."""
    try:
        content = answer.json()
    except ValueError:
        content = {}
    if not isinstance(content, dict):
        content = {}
    code = str(content.get("code") or f"http_{answer.status_code}")
    message = str(content.get("detail") or content.get("title") or answer.reason_phrase)
    details = {key: value for key, value in content.items() if key not in PROBLEM_MEMBERS}
    if isinstance(content.get("details"), dict):
        details |= content["details"]
    kind = KINDS.get(answer.status_code, ControlPlaneError)
    return kind(code, message, details)


def _parse_events(lines: Iterator[str]) -> Iterator[Event]:
    fields: dict[str, str] = {}
    for line in lines:
        if not line:
            if "data" in fields:
                yield Event(
                    id=fields.get("id", ""),
                    name=fields.get("event", "message"),
                    data=fields["data"],
                )
            fields = {}
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data" and "data" in fields:
            value = f"{fields['data']}\n{value}"
        if name:
            fields[name] = value
