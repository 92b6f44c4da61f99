"""Tables: one line a row in a pipe; at a terminal folded, with every id and head whole."""

import sys

import pytest

from controlplane.cli import output

DECISION = "tickets@1796030906294"
COLUMNS = ("ID", "TIME", "STRATEGY", "DATACENTER", "SAMPLE AGE s", "NOTES", "MESSAGE")
ROW = (
    DECISION,
    "2026-11-30 09:28:26",
    "cpu_equalizer",
    "dc-east",
    None,
    "model_missing within_deadband step_limited",
    "what is wrong, where, and what to do about it " * 8,
)


def test_in_a_pipe_a_row_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    output.table(COLUMNS, [ROW, ("x",) * len(ROW)])
    head, row, other = capsys.readouterr().out.splitlines()
    assert row.count("what is wrong") == 8
    assert row.index("2026") == head.index("TIME")
    assert other.split() == ["x"] * len(ROW)
    assert not any(line.endswith(" ") for line in (head, row, other))


@pytest.mark.parametrize("width", [40, 80, 130, 400])
def test_at_a_terminal_nothing_is_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    output.table(COLUMNS, [ROW])
    drawn = capsys.readouterr().out
    for word in (DECISION, ROW[1], "cpu_equalizer", "DATACENTER", "model_missing"):
        assert str(word) in drawn
    assert drawn.count("wrong,") == 8
    assert "\N{HORIZONTAL ELLIPSIS}" not in drawn


def test_a_table_without_rows_is_its_head(capsys: pytest.CaptureFixture[str]) -> None:
    output.table(("A", "B"), [])
    assert capsys.readouterr().out == "A  B\n"


@pytest.mark.parametrize(("as_json", "said"), [(True, '[{"a":1}]'), (False, "A1")])
def test_a_listing_is_the_apis_own_answer_or_a_table(
    capsys: pytest.CaptureFixture[str], as_json: bool, said: str
) -> None:
    output.listing([{"a": 1}], as_json, ("A",), lambda one: (one["a"],))
    assert "".join(capsys.readouterr().out.split()) == said


def test_a_difference_is_told_at_the_part_that_differs(capsys: pytest.CaptureFixture[str]) -> None:
    before = {
        "flash_sale": {"stock": 10, "codes": []},
        "clusters": [{"servers": 8}, {"servers": 5}],
        "hosts": ["a"],
        "same": {"x": 1},
    }
    after = {
        "flash_sale": {"stock": 9, "codes": ["c"]},
        "clusters": [{"servers": 8}, {"servers": 6}],
        "hosts": ["a", "b"],
        "same": {"x": 1},
        "new": {"y": 1},
    }
    output.differences(before, after, "  ")
    assert capsys.readouterr().out.splitlines() == [
        "  clusters[1].servers: 5 -> 6",
        '  flash_sale.codes: [] -> ["c"]',
        "  flash_sale.stock: 10 -> 9",
        '  hosts: ["a"] -> ["a", "b"]',
        '  new: null -> {"y": 1}',
    ]
