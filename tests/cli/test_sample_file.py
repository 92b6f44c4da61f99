"""Reading samples from JSON lines, a JSON array and CSV."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.cli.sample_file import batches, read_samples
from controlplane.domain.errors import Invalid

ROW = {"service": "tickets", "datacenter": "north", "response_time_ms": 20.5, "cpu_avg": 0.5}


def test_json_lines_and_an_array_and_csv_mean_the_same() -> None:
    line = json.dumps(ROW)
    text = "service,datacenter,response_time_ms,cpu_avg,memory\ntickets,north,20.5,0.5,\n"
    assert read_samples(f"{line}\n\n{line}\n", "-") == [ROW, ROW]
    assert read_samples(f"[{line},{line}]", "-") == [ROW, ROW]
    assert read_samples(text, "-") == [ROW]
    assert read_samples(text, "samples.csv") == [ROW]


def test_an_empty_cell_is_missing_and_not_zero() -> None:
    (row,) = read_samples("service,datacenter,cpu_avg\ntickets,north,\n", "s.csv")
    assert "cpu_avg" not in row


def places(text: str, name: str) -> list[tuple[object, object]]:
    with pytest.raises(Invalid) as caught:
        read_samples(text, name)
    assert caught.value.details["file"] == name
    findings = caught.value.details["errors"]
    assert isinstance(findings, list)
    return [(finding["line"], finding["column"]) for finding in findings]


def test_every_bad_line_is_named_with_its_place() -> None:
    assert places('{"a": 1}\n{"a": }\n3\n{"b": 2}\n', "s.jsonl") == [(2, 7), (3, 1)]
    assert places("[1, 2]", "s.json") == [(1, 1)]
    assert places('[{"a": 1},\n  {]', "s.json") == [(2, 4)]
    assert places("service,cpu_avg\na,x\nb\nc,1,2\nd,0.5\n", "s.csv") == [(2, 1), (3, 1), (4, 1)]
    assert places('service,cpu_avg\n"a"b,1\n', "s.csv") == [(2, 1)]


@given(st.lists(st.integers(), max_size=50), st.integers(1, 20))
def test_batches_keep_order_and_size(numbers: list[int], size: int) -> None:
    rows: list[dict[str, object]] = [{"n": number} for number in numbers]
    parts = list(batches(rows, size))
    assert [row for _, part in parts for row in part] == rows
    assert all(1 <= len(part) <= size and rows[start] == part[0] for start, part in parts)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": NaN}',
        '{"a": 1e400}',
        '[{"a": -Infinity}]',
        "service,a\nx,nan",
        "service,a\nx,1e400",
        "[" * 100_000,
        '{"a":' * 100_000,
    ],
)
def test_what_json_cannot_carry_is_a_finding(text: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_samples(text, "x")
    assert caught.value.code == "samples_unreadable"
    assert len(caught.value.details["errors"]) == 1
