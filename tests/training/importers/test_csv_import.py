"""CSV files to training rows: units, alignment, gaps, duplicates, counters, and the account."""

import json
from importlib.resources import files as resources
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from controlplane.domain.errors import Invalid
from tests.training.importers.files import HEADER, MAPPING, START_S, made, rows
from training import dataset
from training.importers import csv_readings, progress, recorded
from training.importers.account import Reason
from training.importers.importing import facts, import_rows
from training.importers.mapping_file import read_mapping
from training.learning.law_fit import Declared, fit_law
from training.learning.provenance import law_rows


def test_a_row_has_the_metrics_of_its_period_and_the_label_of_the_next(tmp_path: Path) -> None:
    imported = made(tmp_path, east=rows(rps=60, ms=20, cpu=40), west=rows(rps=30, ms=50, cpu=70))
    data = imported.dataset
    assert data.time_s.tolist() == [START_S + 60.0 * at for at in range(4)]
    np.testing.assert_allclose(data.primary.cpu_avg, 0.4)
    np.testing.assert_allclose(data.primary.traffic_share, 2 / 3)
    np.testing.assert_allclose(data.ratio, 2 / 3)
    np.testing.assert_allclose(data.response_time_ms, [31.0 + at for at in range(4)])
    assert np.isnan(data.secondary.memory).all()
    assert imported.account.counts == {}
    assert facts(imported)["first"] == "2023-11-14T22:14:00Z"


def test_a_bad_cell_is_missing_and_its_row_is_one_finding(tmp_path: Path) -> None:
    east = rows()
    east[1] = f"{START_S + 60},60,21,much"
    east[2] = f"{START_S + 120},60,22,-3"
    west = rows()
    west[0] = f"{START_S},60,20,"
    imported = made(tmp_path, east=east, west=west)
    told = [(one.reason, one.place, one.message) for one in imported.account.examples]
    assert told == [
        (Reason.VALUE_UNREADABLE, "east.csv:3:4", "'much' is no number"),
        (
            Reason.VALUE_IMPOSSIBLE,
            "east.csv:4:4",
            "cpu_avg: -3 percent is impossible, it must be 0 to 100 %",
        ),
    ]
    assert imported.account.missing == 1
    assert len(imported.dataset) == 4
    assert np.isnan(imported.dataset.primary.cpu_avg[[1, 2]]).all()
    assert np.isnan(imported.dataset.secondary.cpu_avg[0])


def test_two_bad_cells_of_a_row_are_one_finding(tmp_path: Path) -> None:
    imported = made(tmp_path, east=[*rows(), f"{START_S + 300},x,y,50", "soon,1,1,1", "1,2"])
    told = [(one.place, one.message) for one in imported.account.examples]
    assert told[:3] == [
        ("east.csv:7:2", "'x' is no number (and 1 more cells)"),
        ("east.csv:8:1", "'soon' is not a number of seconds or milliseconds"),
        ("east.csv:9", "2 cells, the header has 4"),
    ]
    assert facts(imported)["read"] == 13


def test_a_gap_stays_a_gap_and_costs_the_row_before_it(tmp_path: Path) -> None:
    both = [line for at, line in enumerate(rows(9)) if at not in (3, 4)]
    imported = made(tmp_path, east=both, west=both)
    minutes = (imported.dataset.time_s - START_S) / 60
    assert minutes.tolist() == [0, 1, 5, 6, 7]
    assert imported.account.counts == {Reason.PERIOD_EMPTY: 2, Reason.LABEL_MISSING: 1}
    place = "2 periods, 2023-11-14T22:17:00Z to 2023-11-14T22:18:00Z"
    assert imported.account.examples[0].place == place


def test_one_center_that_misses_costs_its_periods(tmp_path: Path) -> None:
    imported = made(tmp_path, east=rows(9), west=[*rows(9)[:4], *rows(9)[6:]])
    assert imported.account.counts == {Reason.LOAD_MISSING: 2, Reason.LABEL_MISSING: 1}


def test_a_center_without_load_needs_no_response_time(tmp_path: Path) -> None:
    idle = [f"{START_S + 60 * at},0,," for at in range(5)]
    imported = made(tmp_path, west=idle)
    assert imported.dataset.ratio.tolist() == [1.0] * 4
    assert imported.dataset.response_time_ms.tolist() == [21.0, 22.0, 23.0, 24.0]


def test_doubled_times(tmp_path: Path) -> None:
    east = [*rows(), rows()[1], f"{START_S + 120},60,99,40"]
    imported = made(tmp_path, east=east)
    told = [one.message for one in imported.account.examples if one.reason is Reason.TIME_TWICE]
    assert "stands 2 times with one value, taken once" in told
    assert "stands 2 times with several values, none taken" in told
    assert imported.account.counts[Reason.LABEL_MISSING] == 1


def test_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    straight = made(tmp_path).dataset.digest()
    assert made(tmp_path, east=rows()[::-1]).dataset.digest() == straight


def test_periods_own_the_times_up_to_their_end(tmp_path: Path) -> None:
    # Readings at :10 and :40 of a minute; the first period ends at :00.
    lines = [f"{START_S - 50 + 30 * at},60,{10 * at},40" for at in range(8)]
    imported = made(tmp_path, east=lines, west=lines)
    assert imported.dataset.time_s.tolist() == [START_S, START_S + 60, START_S + 120]
    assert imported.dataset.response_time_ms.tolist() == [25.0, 45.0, 65.0]
    shifted = made(tmp_path, "phase_s = 30\n" + MAPPING, east=lines, west=lines)
    assert shifted.dataset.time_s[0] == START_S - 30


def test_maximum_and_last_of_a_period(tmp_path: Path) -> None:
    mapping = MAPPING.replace("cpu_avg", "cpu_max").replace(
        'response_time_ms = "ms"', 'response_time_ms = { column = "ms", combine = "last" }'
    )
    lines = [f"{START_S - 30 + 30 * at},60,{20 + at},{40 + at % 2}" for at in range(8)]
    data = made(tmp_path, mapping, east=lines, west=lines).dataset
    np.testing.assert_allclose(data.primary.cpu_max, 0.41)
    assert data.primary.response_time_ms.tolist() == [21.0, 23.0, 25.0]


def test_a_counter_becomes_a_rate_and_a_reset_is_not_believed(tmp_path: Path) -> None:
    mapping = MAPPING.replace(
        'request_rate_rps = "rps"',
        'request_rate_rps = { column = "rps", kind = "counter", unit = "requests" }',
    )
    counts = [1000, 4600, 8200, 300, 3900, 7500, 11100]
    east = [f"{START_S + 60 * at},{count},20,40" for at, count in enumerate(counts)]
    imported = made(tmp_path, mapping, east=east, west=east)
    np.testing.assert_allclose(imported.dataset.primary.request_rate_rps, 60.0)
    minutes = (imported.dataset.time_s - START_S) / 60
    assert minutes.tolist() == [1, 4, 5]
    resets = [one for one in imported.account.examples if one.reason is Reason.COUNTER_RESET]
    assert resets[0].message == "fell from 8200 to 300"
    assert resets[0].place == "east request_rate_rps at 2023-11-14T22:17:00Z"


def test_a_counter_is_not_spread_over_a_long_silence(tmp_path: Path) -> None:
    mapping = MAPPING.replace(
        'request_rate_rps = "rps"',
        'request_rate_rps = { column = "rps", kind = "counter", unit = "requests" }',
    )
    east = [f"{START_S + 60 * at},{6000 + 3600 * at},20,40" for at in (0, 1, 2, 3, 7, 8, 9, 10)]
    imported = made(tmp_path, mapping, east=east, west=east)
    minutes = (imported.dataset.time_s - START_S) / 60
    assert minutes.tolist() == [1, 2, 8, 9]


def test_counts_need_all_rows_of_their_period(tmp_path: Path) -> None:
    mapping = MAPPING.replace(
        'request_rate_rps = "rps"',
        'request_rate_rps = { column = "rps", kind = "count", unit = "requests" }',
    )
    lines = [f"{START_S - 30 + 30 * at},600,20,40" for at in range(12) if at != 5]
    imported = made(tmp_path, mapping, east=lines, west=lines)
    np.testing.assert_allclose(imported.dataset.primary.request_rate_rps, 20.0)
    assert imported.account.counts[Reason.COUNT_PARTIAL] == 2
    assert imported.account.counts[Reason.LOAD_MISSING] == 1


@pytest.mark.parametrize(
    ("mapping", "ratios"),
    [
        ("ratio = 0.4\n" + MAPPING, [0.4, 0.4, 0.4, 0.4]),
        (
            MAPPING.replace("cpu_avg = {", 'scheduling_ratio = "cpu"\ncpu_avg = {', 1),
            [0.5, 0.6],
        ),
        (
            "hold_ratio = true\n"
            + MAPPING.replace("cpu_avg = {", 'scheduling_ratio = "cpu"\ncpu_avg = {', 1),
            [0.5, 0.5, 0.6],
        ),
    ],
)
def test_where_the_ratio_comes_from(tmp_path: Path, mapping: str, ratios: list[float]) -> None:
    cells = ["", "0.5", "", "0.6", ""]
    east = [f"{START_S + 60 * at},60,20,{cell}" for at, cell in enumerate(cells)]
    imported = made(tmp_path, mapping, east=east)
    assert imported.dataset.ratio.tolist() == ratios
    assert imported.account.counts[Reason.RATIO_MISSING] == 4 - len(ratios)


def test_the_wrong_unit_is_told_instead_of_an_empty_data_set(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"east cpu_avg: 5 of 5 values are impossible .* ratio"):
        made(tmp_path, MAPPING.replace('"percent"', '"ratio"'))


@pytest.mark.parametrize(
    ("kind", "cells"),
    [
        ("gauge", ["60", "60", "1e300", "60", "60", "60"]),
        ("counter", ["60", "60", "1e300", "60", "120", "180"]),
        ("counter", ["60", "120", "180", "1e20", "60", "120", "180"]),
    ],
)
def test_more_than_any_sample_may_say_is_impossible(
    tmp_path: Path, kind: str, cells: list[str]
) -> None:
    told = f'request_rate_rps = {{ column = "rps", kind = "{kind}" }}'
    mapping = MAPPING.replace('request_rate_rps = "rps"', told)
    east = [f"{START_S + 60 * at},{cell},20,40" for at, cell in enumerate(cells)]
    imported = made(tmp_path, mapping, east=east, west=east)
    assert imported.account.counts[Reason.VALUE_IMPOSSIBLE] > 0
    dataset.write_csv(imported.dataset, tmp_path / "rows.csv")
    assert len(dataset.read_csv(tmp_path / "rows.csv")) == len(imported.dataset) > 0


def test_a_share_a_little_above_one_is_one(tmp_path: Path) -> None:
    imported = made(tmp_path, east=rows(cpu=100.4))
    assert imported.dataset.primary.cpu_avg.tolist() == [1.0] * 4
    assert imported.account.counts[Reason.SHARE_CLIPPED] == 5


def test_one_long_table_for_all_centers(tmp_path: Path) -> None:
    mapping = MAPPING
    for name in ("east", "west"):
        mapping = mapping.replace(
            f'file = "{name}.csv"', f'file = "all.csv"\nwhere = {{ cpu = "{name}" }}'
        )
    mapping = "\n".join(line for line in mapping.splitlines() if "cpu_avg" not in line)
    lines = [
        f"{START_S + 60 * at},{rps},20,{name}"
        for at in range(5)
        for name, rps in (("east", 30), ("west", 90), ("north", 7))
    ]
    data = made(tmp_path, mapping, all=lines).dataset
    assert data.ratio.tolist() == [0.25] * 4


def test_files_of_one_metric_each_with_a_mark_and_semicolons(tmp_path: Path) -> None:
    mapping = 'delimiter = ";"\n' + MAPPING.replace(
        '"rps"', '{ column = "value", file = ["one.csv", "two.csv"] }', 1
    )
    for name, minutes in (("one", (0, 1, 2)), ("two", (3, 4))):
        lines = [f"{START_S + 60 * at};30" for at in minutes]
        text = "\n".join(["\ufefft;value", *lines])
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    for name in ("east", "west"):
        text = "\n".join([HEADER, *rows()]).replace(",", ";")
        (tmp_path / f"{name}.csv").write_text(text)
    (tmp_path / "mapping.toml").write_text(mapping)
    imported = import_rows(read_mapping(tmp_path / "mapping.toml"), lambda _what, _done: None)
    np.testing.assert_allclose(imported.dataset.ratio, 1 / 3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("t,rps,ms\n", r"east.csv line 1: for east these columns are missing: \['cpu'\]"),
        ("t,rps,ms,cpu,cpu\n", r"more than once: \['cpu'\]"),
        ("", r"missing: \['cpu', 'ms', 'rps', 't'\]"),
        ('t,rps,ms,cpu\n"open', "east.csv: unexpected end of data"),
        ("t,rps,ms,cpu\n" + "1" * 1_100_000, "a line has 1000000 characters or more"),
    ],
)
def test_files_that_are_no_such_table(tmp_path: Path, text: str, words: str) -> None:
    made(tmp_path)
    (tmp_path / "east.csv").write_text(text)
    with pytest.raises(Invalid, match=words):
        import_rows(read_mapping(tmp_path / "mapping.toml"), lambda _what, _done: None)


def test_no_file_and_other_encodings(tmp_path: Path) -> None:
    made(tmp_path)
    mapping = read_mapping(tmp_path / "mapping.toml")
    (tmp_path / "east.csv").write_bytes(b"t,rps,ms,cpu\n\xff\n")
    with pytest.raises(Invalid, match=r"east.csv: 'utf-8' codec"):
        import_rows(mapping, lambda _what, _done: None)
    (tmp_path / "east.csv").unlink()
    with pytest.raises(Invalid, match=r"east\.csv: there is no such file"):
        import_rows(mapping, lambda _what, _done: None)


def test_nothing_left_is_told(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="no reading is left"):
        made(tmp_path, east=[], west=[])
    with pytest.raises(Invalid, match=r"not one of 1 periods is complete: one period has no other"):
        made(tmp_path, east=rows(1), west=rows(1))
    with pytest.raises(Invalid, match=r"1 period_empty, 9 load_missing"):
        late = [f"{START_S + 60 * at},60,20,40" for at in range(6, 11)]
        made(tmp_path, west=late)


def test_limits_of_values_and_periods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    far = [*rows(), "4000000000,60,20,40"]
    with pytest.raises(Invalid, match=r"span \d+ periods of 60 s, at most 3000000"):
        made(tmp_path, east=far)
    collection = recorded.Collection(most_values=10)
    mapping = read_mapping(tmp_path / "mapping.toml")
    with pytest.raises(Invalid, match="more than 10 values"):
        csv_readings.read_center(
            mapping.centers[0], mapping.table, collection, lambda _what, _done: None
        )


def test_the_examples_are_few_and_the_counts_are_whole(tmp_path: Path) -> None:
    bad = [f"{START_S + 60 * at},60,20,x" for at in range(40)]
    imported = made(tmp_path, east=bad, west=rows(40))
    assert imported.account.counts[Reason.VALUE_UNREADABLE] == 40
    assert len(imported.account.examples) == 5


def test_progress_is_lines_for_programs_and_bars_for_people() -> None:
    stream = StringIO()
    with progress.shown(stream) as tell:
        tell("east.csv", 0.2)
        tell("east.csv", 0.3)
        tell("east.csv", 1.0)
    told = [json.loads(line)["progress"] for line in stream.getvalue().splitlines()]
    assert told == [0.2, 1.0]

    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    with progress.shown(terminal) as tell:
        tell("east.csv", 0.5)
        tell("east.csv", 1.0)
    assert "east.csv" in terminal.getvalue()


@pytest.mark.parametrize(("pair", "count"), [("order", 876), ("travel", 890)])
def test_train_ticket_has_no_load_curve_and_the_fit_says_so(pair: str, count: int) -> None:
    mapping = read_mapping(Path(str(resources("data").joinpath("metrics", f"{pair}.toml"))))
    imported = import_rows(mapping, lambda _what, _done: None)
    assert len(imported.dataset) == count
    assert imported.account.counts == {Reason.LABEL_MISSING: 918 - count}
    for series in (imported.dataset.primary, imported.dataset.secondary):
        fit = fit_law(law_rows(series), Declared())
        assert not fit.trusted
        assert "of the capacity, at least 0.08 needed" in fit.reason
