"""Range data of a Prometheus: from files of its answers, or asked for.

Queries are written as in a fleet's metric sources. A range is asked for in pieces below the
server's own limit of points, one after the other. Redirects, proxies of the environment and .netrc
are not followed; the token goes to the mapping's address only.
"""

import math
import ssl
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

from controlplane.domain.errors import Invalid, Refused, Retryable
from training.importers.mapping import Mapping, Ranges, Reading
from training.importers.range_answers import Asked, take_answer
from training.importers.recorded import Collection, Tell
from training.importers.resampling import MOST_PERIODS
from training.importers.times import moment

# Read at once; about two million points.
MOST_BYTES = 64_000_000
# Prometheus refuses more than 11,000 points a series.
MOST_POINTS = 10_000
TIMEOUT_S = 60.0
# A source that drips never times out by itself.
DEADLINE_S = 300.0
QUERY_RANGE = "/api/v1/query_range"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """One question: both ends are asked for."""

    start_s: float
    end_s: float
    step_s: float


def read_ranges(mapping: Mapping, centers: tuple[str, ...], into: Collection, tell: Tell) -> None:
    """Read every reading of the mapping's Prometheus.

    Raises:
        Invalid: `dataset_unreadable`, `import_url`, or an answer that is refused, unreadable or
            too large.
        Retryable: `source_away`, `source_http_error`.
        Refused: `source_credential_unusable`.
    """
    assert mapping.ranges is not None
    ranges = mapping.ranges
    for reading in ranges.readings:
        for path in reading.files:
            source = _Source(ranges=ranges, centers=centers, reading=reading)
            take_answer(_file(path), source.asked(path.name), into)
            tell(path.name, 1.0)
    queries = [one for one in ranges.readings if one.query]
    if queries:
        with _client(ranges) as client:
            for reading in queries:
                source = _Source(ranges=ranges, centers=centers, reading=reading)
                _ask(client, source, list(_pieces(mapping)), (into, tell))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    ranges: Ranges
    centers: tuple[str, ...]
    reading: Reading

    def asked(self, source: str) -> Asked:
        return Asked(reading=self.reading, ranges=self.ranges, centers=self.centers, source=source)


def _file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            body = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise Invalid("dataset_unreadable", f"{path}: {error}") from error
    if len(body) > MOST_BYTES:
        raise _too_large(path.name)
    return body


def _pieces(mapping: Mapping) -> Iterator[_Piece]:
    """The range cut so that no answer has more points than a server gives."""
    ranges, step_s = mapping.ranges, mapping.period_s
    assert ranges is not None
    # On the ends of periods, so that each value is that of its period.
    first = math.ceil((ranges.start_s - mapping.phase_s) / step_s)
    last = math.floor((ranges.end_s - mapping.phase_s) / step_s)
    if last - first >= MOST_PERIODS:
        words = f"start and end are {last - first + 1} periods apart, at most {MOST_PERIODS}"
        raise Invalid("import_too_large", words)
    for begin in range(first, last + 1, MOST_POINTS):
        end = min(begin + MOST_POINTS - 1, last)
        yield _Piece(
            start_s=begin * step_s + mapping.phase_s,
            end_s=end * step_s + mapping.phase_s,
            step_s=step_s,
        )


def _client(ranges: Ranges) -> httpx.Client:
    if not ranges.url:
        raise Invalid("import_url", "the mapping has queries: name the Prometheus (url, or --url)")
    # What is not compressed cannot unfold in memory.
    headers = {"Accept-Encoding": "identity"}
    if ranges.token_file is not None:
        headers["Authorization"] = f"Bearer {_token(ranges.token_file)}"
    return httpx.Client(
        headers=headers,
        verify=ssl.create_default_context(),
        timeout=TIMEOUT_S,
        follow_redirects=False,
        trust_env=False,
    )


def _token(path: Path) -> str:
    try:
        token = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        message = f"the token file {path} cannot be read: {error}"
        raise Refused("source_credential_unusable", message) from error
    if not token or not token.isascii() or not token.isprintable():
        raise Refused("source_credential_unusable", f"the token file {path} has no token")
    return token


def _ask(
    client: httpx.Client, source: _Source, pieces: list[_Piece], out: tuple[Collection, Tell]
) -> None:
    into, tell = out
    metric = source.reading.metric
    for number, piece in enumerate(pieces, 1):
        params = {
            "query": source.reading.query,
            "start": f"{piece.start_s:.3f}",
            "end": f"{piece.end_s:.3f}",
            "step": f"{piece.step_s:g}",
        }
        where = f"query {metric} from {moment(piece.start_s)} to {moment(piece.end_s)}"
        status, body = _exchange(client, f"{source.ranges.url}{QUERY_RANGE}", params, where)
        # 400 and 422 carry the reason in their body.
        if status not in (
            httpx.codes.OK,
            httpx.codes.BAD_REQUEST,
            httpx.codes.UNPROCESSABLE_ENTITY,
        ):
            raise Retryable("source_http_error", f"{where}: status {status}: look at the source")
        take_answer(body, source.asked(where), into)
        tell(metric, number / len(pieces))


def _exchange(
    client: httpx.Client, url: str, params: dict[str, str], where: str
) -> tuple[int, bytes]:
    body = bytearray()
    until_s = time.monotonic() + DEADLINE_S
    try:
        with client.stream("GET", url, params=params) as response:
            for part in response.iter_raw():
                body += part
                if len(body) > MOST_BYTES:
                    raise _too_large(where)
                if time.monotonic() > until_s:
                    raise Retryable("source_away", f"{where}: not whole within {DEADLINE_S:g} s")
            return response.status_code, bytes(body)
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
        words = str(error) or type(error).__name__
        raise Retryable("source_away", f"{where}: no answer: {words}") from error


def _too_large(where: str) -> Invalid:
    return Invalid(
        "source_answer_too_large",
        f"{where}: more than {MOST_BYTES} bytes: aggregate by service and data center, or ask for "
        "a shorter time",
    )
