"""Range data: of a real Prometheus with a known history, of files, and of strange answers."""

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.free_ports import free_port
from controlplane.domain.errors import ControlPlaneError, Invalid, Refused, Retryable
from tests.servers.prometheus import Answer, Server, answering
from training.importers import range_readings
from training.importers.account import Reason
from training.importers.importing import Imported, import_rows
from training.importers.mapping import Mapping
from training.importers.mapping_file import read_mapping

MINUTES = 180
# Full minutes of yesterday: a Prometheus drops what is older than its retention.
START_S = (int(time.time()) // 86_400 - 1) * 86_400
RPS = {"east": 40.0, "west": 10.0}
SECONDS = {"east": 0.05, "west": 0.02}
RESTART_MINUTE = 90

MAPPING = f"""
[[centers]]
name = "east"
[[centers]]
name = "west"

[prometheus]
url = "URL"
start = {time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(START_S))}
end = {time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(START_S + 60 * MINUTES))}
service = "tickets"

[prometheus.metrics]
request_rate_rps = "sum by (service, datacenter) (rate(requests_total[2m]))"
cpu_avg = {{ query = "avg by (service, datacenter) (cpu_percent)", unit = "percent" }}
ingress_bandwidth_bps = {{ query = "cpu_percent * 1e4", unit = "byte_per_s" }}

[prometheus.metrics.response_time_ms]
query = \"\"\"
sum by (service, datacenter) (rate(seconds_sum[2m]))
/ sum by (service, datacenter) (rate(requests_total[2m]))
\"\"\"
unit = "s"
"""


def history() -> str:
    """Counters that start again after a restart, in the format of promtool."""
    lines = []
    for name, kind in (("requests", "counter"), ("seconds_sum", "gauge"), ("cpu_percent", "gauge")):
        lines.append(f"# TYPE {name} {kind}")
        for center, rps in RPS.items():
            labels = f'service="tickets",datacenter="{center}"'
            for at in range(0, 60 * MINUTES + 1, 30):
                since_s = at if at < 60 * RESTART_MINUTE else at - 60 * RESTART_MINUTE
                value = {
                    "requests": rps * since_s,
                    "seconds_sum": rps * since_s * SECONDS[center],
                    "cpu_percent": rps,
                }[name]
                suffix = "_total" if kind == "counter" else ""
                lines.append(f"{name}{suffix}{{{labels}}} {value} {START_S + at}")
    return "\n".join([*lines, "# EOF", ""])


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("prometheus")
    (folder / "history").write_text(history())
    promtool = shutil.which("promtool")
    assert promtool is not None, "no promtool on PATH: run .ci/servers"
    subprocess.run(
        [promtool, "tsdb", "create-blocks-from", "openmetrics", "history", "data"],
        cwd=folder, check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    (folder / "prometheus.yml").write_text("scrape_configs: []\n")
    server = Server(folder=folder, port=free_port())
    try:
        server.start()
        yield server.url
    finally:
        server.kill()


def mapping_at(folder: Path, url: str, text: str = MAPPING) -> Mapping:
    (folder / "mapping.toml").write_text(text.replace("URL", url))
    return read_mapping(folder / "mapping.toml")


def imported_from(mapping: Mapping) -> Imported:
    return import_rows(mapping, lambda _what, _done: None)


def test_a_real_prometheus_gives_its_history(tmp_path: Path, url: str) -> None:
    imported = imported_from(mapping_at(tmp_path, url))
    data = imported.dataset
    assert len(data) > 170
    assert np.diff(data.time_s).max() <= 180
    np.testing.assert_allclose(data.ratio, 0.8, atol=0.02)
    np.testing.assert_allclose(np.median(data.primary.request_rate_rps), 40.0, rtol=0.01)
    np.testing.assert_allclose(np.median(data.response_time_ms), 44.0, rtol=0.01)
    np.testing.assert_allclose(data.primary.cpu_avg, 0.4)
    np.testing.assert_allclose(data.secondary.ingress_bandwidth_bps, 8e5)


def test_a_long_range_is_asked_for_in_pieces(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = imported_from(mapping_at(tmp_path, url))
    told: list[tuple[str, float]] = []
    monkeypatch.setattr(range_readings, "MOST_POINTS", 50)
    pieces = import_rows(mapping_at(tmp_path, url), lambda what, done: told.append((what, done)))
    assert pieces.dataset.digest() == whole.dataset.digest()
    assert [done for what, done in told if what == "cpu_avg"] == [0.25, 0.5, 0.75, 1.0]


def test_files_of_answers_give_the_same_rows(tmp_path: Path, url: str) -> None:
    import httpx

    mapping = mapping_at(tmp_path, url)
    assert mapping.ranges is not None
    readings = []
    for one in mapping.ranges.readings:
        params = {
            "query": one.query,
            "start": str(START_S),
            "end": str(START_S + 60 * MINUTES),
            "step": "60",
        }
        answer = httpx.get(f"{url}/api/v1/query_range", params=params)
        path = tmp_path / f"{one.metric}.json"
        path.write_bytes(answer.content)
        readings.append(replace(one, query="", files=(path,)))
    ranges = replace(mapping.ranges, url="", readings=tuple(readings))
    filed = imported_from(replace(mapping, ranges=ranges))
    assert filed.dataset.digest() == imported_from(mapping).dataset.digest()


def test_a_wrong_query_is_told_in_the_words_of_the_server(tmp_path: Path, url: str) -> None:
    with pytest.raises(Invalid, match=r"query cpu_avg from .*: .*parse error") as caught:
        text = MAPPING.replace("avg by (service, datacenter) (cpu_percent)", "avg(")
        imported_from(mapping_at(tmp_path, url, text))
    assert caught.value.code == "source_query_refused"


def test_a_query_without_aggregation_tells_two_series(tmp_path: Path, url: str) -> None:
    twice = "cpu_percent or label_replace(cpu_percent, 'pod', 'b', 'service', '.*')"
    imported = imported_from(mapping_at(tmp_path, url, MAPPING.replace("cpu_percent * 1e4", twice)))
    assert imported.account.counts[Reason.SERIES_TWICE] == 2
    assert np.isnan(imported.dataset.primary.ingress_bandwidth_bps).all()


def test_the_wrong_names_are_told(tmp_path: Path, url: str) -> None:
    with pytest.raises(Invalid, match="no reading is left"):
        imported_from(mapping_at(tmp_path, url, MAPPING.replace('"tickets"', '"orders"')))


def series(**labels: str) -> dict[str, object]:
    names = {"service": "tickets", "datacenter": "east"} | labels
    return {"metric": names, "values": [[START_S, "1"], [START_S + 60, "NaN"]]}


def matrix(*result: object) -> Answer:
    content = {"status": "success", "data": {"resultType": "matrix", "result": list(result)}}
    return 200, json.dumps(content).encode()


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        ((200, b"<html>"), "source_answer_unreadable", "not JSON: line 1 column 1"),
        ((200, b"[]"), "source_answer_unreadable", "not an object"),
        ((503, b""), "source_http_error", "status 503"),
        ((302, b""), "source_http_error", "status 302"),
        ((400, b'{"status": "error", "error": "bad"}'), "source_query_refused", "bad"),
        ((200, b'{"status": "success", "data": 3}'), "source_answer_unreadable", "a None"),
        (
            (200, b'{"status": "success", "data": {"resultType": "vector", "result": []}}'),
            "source_answer_unreadable",
            "it is a vector; range data are a matrix",
        ),
        (matrix(3), "source_answer_unreadable", "series 1 has no labels"),
        (
            matrix({**series(), "values": None}),
            "source_answer_unreadable",
            "series 1 has no values",
        ),
        (
            matrix({**series(), "values": [["soon", "1"]]}),
            "source_answer_unreadable",
            "its time is 'soon'",
        ),
        (
            matrix({**series(), "values": [[1, "much"]]}),
            "source_answer_unreadable",
            "could not convert",
        ),
        (matrix({**series(), "values": [[1, "1_0"]]}), "source_answer_unreadable", "could not"),
        (matrix({**series(), "values": [[1, 10]]}), "source_answer_unreadable", "and no text"),
        (None, "source_away", "no answer"),
        ((200, b"x" * 2_000), "source_answer_too_large", "more than 1000 bytes"),
    ],
)
def test_strange_answers_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer | None, code: str, words: str
) -> None:
    monkeypatch.setattr(range_readings, "MOST_BYTES", 1_000)
    with answering(lambda _path: answer) as port, pytest.raises(ControlPlaneError) as caught:
        imported_from(mapping_at(tmp_path, f"http://127.0.0.1:{port}"))
    assert caught.value.code == code
    assert words in caught.value.message


def test_strangers_and_missing_values_are_counted(tmp_path: Path) -> None:
    parts = [series(), series(datacenter="west"), series(datacenter="north"), series(service="x")]
    with answering(lambda _path: matrix(*parts)) as port, pytest.raises(Invalid):
        imported_from(mapping_at(tmp_path, f"http://127.0.0.1:{port}"))


def test_a_point_of_an_impossible_time_costs_itself_alone(tmp_path: Path) -> None:
    good = [[START_S + 60 * at, "1"] for at in range(3)]
    odd = [[time_s, value] for time_s in (1e300, 1e18, 9e12, -1e17, 0, 1) for value in ["-1", "1"]]
    parts = [{**series(datacenter=name), "values": odd + good} for name in RPS]
    with answering(lambda _path: matrix(*parts)) as port:
        imported = imported_from(mapping_at(tmp_path, f"http://127.0.0.1:{port}"))
    assert imported.dataset.time_s.tolist() == [START_S, START_S + 60]
    assert imported.account.counts[Reason.TIME_UNREADABLE] % len(odd) == 0


def test_an_answer_that_drips_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(range_readings, "DEADLINE_S", -1.0)
    with (
        answering(lambda _path: matrix(series())) as port,
        pytest.raises(Retryable, match="not whole within"),
    ):
        imported_from(mapping_at(tmp_path, f"http://127.0.0.1:{port}"))


def test_the_token_goes_with_the_question(tmp_path: Path) -> None:
    text = MAPPING.replace('service = "tickets"', 'token_file = "token"')
    with pytest.raises(Refused, match="cannot be read"):
        imported_from(mapping_at(tmp_path, "http://127.0.0.1:1", text))
    (tmp_path / "token").write_text(" \n")
    with pytest.raises(Refused, match="has no token"):
        imported_from(mapping_at(tmp_path, "http://127.0.0.1:1", text))
    (tmp_path / "token").write_text("secret\n")
    with pytest.raises(Retryable, match="no answer"):
        imported_from(mapping_at(tmp_path, "http://127.0.0.1:1", text))


def test_limits_and_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Invalid, match="name the Prometheus"):
        imported_from(mapping_at(tmp_path, "", MAPPING.replace('url = "URL"', "")))
    with pytest.raises(Invalid, match="at most 3000000"):
        far = MAPPING.replace(f"start = {time.gmtime().tm_year}", "start = 1900")
        imported_from(mapping_at(tmp_path, "http://127.0.0.1:1", far))
    monkeypatch.setattr(range_readings, "MOST_BYTES", 10)
    files = MAPPING.replace('query = "cpu_percent * 1e4"', 'file = "x.json"')
    with pytest.raises(Invalid, match=r"x\.json"):
        imported_from(mapping_at(tmp_path, "http://127.0.0.1:1", files))
    (tmp_path / "x.json").write_text("x" * 20)
    with pytest.raises(Invalid, match=r"x\.json: more than 10 bytes"):
        imported_from(mapping_at(tmp_path, "http://127.0.0.1:1", files))
