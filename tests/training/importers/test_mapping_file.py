"""Mapping files: every error at once with its line and column, and what the keys mean."""

from pathlib import Path

import pytest

from tests.training.importers.files import MAPPING, refusal
from training.importers.mapping import Combine
from training.importers.mapping_file import MOST_BYTES, read_mapping
from training.importers.toml_places import place_of
from training.importers.units import METRICS, Kind, factors

PROMETHEUS = """
[[centers]]
name = "east"
[[centers]]
name = "west"

[prometheus]
url = "http://127.0.0.1:9090/"
start = 2026-11-29T00:00:00Z
end = 2026-11-30T00:00:00+01:00
service = "tickets"

[prometheus.metrics]
request_rate_rps = "sum by (service, datacenter) (rate(http_requests_total[1m]))"
response_time_ms = { query = "1", unit = "s" }
cpu_avg = { file = ["a.json", "b.json"] }
"""


def test_a_mapping_is_read_with_its_defaults(tmp_path: Path) -> None:
    (tmp_path / "mapping.toml").write_text(MAPPING)
    mapping = read_mapping(tmp_path / "mapping.toml")
    east = mapping.centers[0]
    by_metric = {one.metric: one for one in east.readings}
    assert (mapping.period_s, mapping.phase_s, mapping.fixed_ratio) == (60.0, 0.0, None)
    assert east.name == "east"
    assert by_metric["cpu_avg"].factor == 0.01
    assert by_metric["response_time_ms"].factor == 1.0
    assert by_metric["response_time_ms"].combine is Combine.MEAN
    assert by_metric["cpu_avg"].files == (tmp_path / "east.csv",)


def test_prometheus_queries_are_written_as_in_the_fleet(tmp_path: Path) -> None:
    (tmp_path / "mapping.toml").write_text(PROMETHEUS)
    ranges = read_mapping(tmp_path / "mapping.toml").ranges
    assert ranges is not None
    assert ranges.url == "http://127.0.0.1:9090"
    assert ranges.end_s - ranges.start_s == 23 * 3600
    assert ranges.readings[1].factor == 1000.0
    assert ranges.readings[2].files == (tmp_path / "a.json", tmp_path / "b.json")
    other = read_mapping(tmp_path / "mapping.toml", "http://127.0.0.2:9090")
    assert other.ranges is not None
    assert other.ranges.url == "http://127.0.0.2:9090"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[time]", "perod_s = 60\n[time]", "mapping.toml:2:1: perod_s: Extra inputs"),
        ("[time]", "period_s = 0\n[time]", "mapping.toml:2:1: period_s: Input should be greater"),
        ("[time]", "phase_s = 60\n[time]", "mapping.toml:2:1: phase_s: must be less than period_s"),
        ("[time]", "ratio = 50\n[time]", "mapping.toml:2:1: ratio: Input should be less than"),
        ('"epoch_s"', '"unix"', "mapping.toml:4:1: time.format: use rfc3339, epoch_s, epoch_ms"),
        ("[time]", '[time]\nzone = "Mars"', "mapping.toml:3:1: time.zone: no zone of the IANA"),
        ('"percent"', '"%"', "mapping.toml:12:29: centers[0].metrics.cpu_avg.unit: no unit '%'"),
        ("cpu_avg", "cpu", "mapping.toml:12:1: centers[0].metrics.cpu: there is no metric"),
        (
            'response_time_ms = "ms"',
            'memory = { column = "ms", kind = "counter" }',
            "centers[0].metrics.memory.kind: memory cannot be a counter",
        ),
        ('response_time_ms = "ms"', "", "centers[0]: east needs response_time_ms"),
        ('request_rate_rps = "rps"', "", "centers[0]: east needs request_rate_rps, or ingress"),
        ('"west"', '"east"', "mapping.toml:15:1: centers[1].name: two centers have the same name"),
        ('file = "east.csv"', "", "centers[0].metrics.request_rate_rps: name the file"),
        ('"rps"', '{ query = "up" }', "a query belongs to [prometheus.metrics]"),
        ('"rps"', "{}", "centers[0].metrics.request_rate_rps: name the column"),
        ("[time]", "[time", "[mapping_unreadable] mapping.toml: Expected ']'"),
        ("[time]", f"x = {'[' * 20_000}\n[time]", "[mapping_unreadable] mapping.toml: "),
        ("[time]", f"phase_s = {'1' * 5000}\n[time]", "[mapping_unreadable] mapping.toml: "),
        ('"epoch_s"', '"%d.%d.%Y"', "mapping.toml:4:1: time.format: it has a directive twice"),
        ('"epoch_s"', '"%Q"', "mapping.toml:4:1: time.format: it is no pattern of times: 'Q'"),
        ('"epoch_s"', '"%Y%"', "mapping.toml:4:1: time.format: it is no pattern of times: stray"),
        ('"east.csv"', '"a\\u0000"', "centers[0].file[0]: no file's name has a NUL"),
    ],
)
def test_an_error_has_its_place(tmp_path: Path, old: str, new: str, words: str) -> None:
    count = 1 if old != '"west"' else -1
    assert words in refusal(tmp_path, MAPPING.replace(old, new, count))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("start = 2026-11-29T00:00:00Z", "", "prometheus.start: queries need start and end"),
        ("start = 2026-11-29", "start = 2027-11-29", "the start before the end"),
        ("00:00:00Z", "00:00:00", "mapping.toml:9:1: prometheus.start: Input should have timezone"),
        ("[prometheus]", '[prometheus]\ntoken_file = "\\u0000"', "no file's name has a NUL"),
        ("http://", "ftp://", "mapping.toml:8:1: prometheus.url: use http:// or https://"),
        ('query = "1"', 'column = "1"', "response_time_ms.column: a column belongs to [centers"),
        ('query = "1", ', "", "response_time_ms: name either a query or the files"),
    ],
)
def test_an_error_about_prometheus_has_its_place(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    assert words in refusal(tmp_path, PROMETHEUS.replace(old, new))


def test_all_errors_are_told_at_once(tmp_path: Path) -> None:
    told = refusal(tmp_path, MAPPING.replace('"percent"', '"%"'))
    assert told.count("no unit '%'") == 2
    assert "mapping.toml:20:29: centers[1].metrics.cpu_avg.unit" in told


def test_what_is_no_mapping_is_refused(tmp_path: Path) -> None:
    assert "[mapping_unreadable]" in refusal(tmp_path, "x = 1\n" * MOST_BYTES)
    assert "mapping.toml:1:1: centers: Field required" in refusal(tmp_path, "period_s = 60")
    alone = MAPPING[: MAPPING.rindex("[[centers]]")]
    assert "mapping.toml:6:1: centers: List should have at least 2" in refusal(tmp_path, alone)
    with pytest.raises(Exception, match=r"nothing\.toml"):
        read_mapping(tmp_path / "nothing.toml")
    (tmp_path / "mapping.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(Exception, match="utf-8"):
        read_mapping(tmp_path / "mapping.toml")


def test_the_first_unit_of_every_metric_is_its_own() -> None:
    for metric in METRICS:
        assert next(iter(factors(metric, Kind.GAUGE).values())) == 1.0
    assert factors("ingress_bandwidth_bps", Kind.COUNTER)["bytes"] == 8.0
    assert factors("cpu_avg", Kind.COUNT) == {}


def test_places_in_nested_tables() -> None:
    text = 'a.b = 1\n[x]\n"c d" = 2\n[[y]]\nk = 1\n[[y]]\n[y.z]\nk = { u = 1 }\n'
    assert place_of(text, ("a", "b")) == (1, 1)
    assert place_of(text, ("x", "c d")) == (3, 1)
    assert place_of(text, ("y", 1, "z", "k", "u")) == (8, 7)
    assert place_of(text, ("y", 0, "missing")) == (4, 1)
    assert place_of(text, ("nowhere",)) == (1, 1)
