"""Data sets: CSV round trip, the format of the API's export, and what is refused."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from controlplane.domain.errors import Invalid
from controlplane.domain.features import FEATURE_NAMES
from controlplane.engine.learning import dataset as export
from training import dataset
from training.dataset import COLUMNS, Dataset
from training.simulation import simulator, weather
from training.simulation.world import load_world


@pytest.fixture
def rows() -> Dataset:
    world = load_world("W1")
    drawn = weather.draw(world, 201, 0)
    made = simulator.simulate(world, drawn, weather.operator_ratio(world, 201, 0))
    memory = made.primary.memory.copy()
    memory[3] = np.nan
    return dataclasses.replace(made, primary=dataclasses.replace(made.primary, memory=memory))


def test_the_columns_are_those_that_the_control_plane_exports() -> None:
    assert COLUMNS == export.COLUMNS


def test_csv_round_trip_keeps_nine_digits_and_missing_cells(rows: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "new" / "rows.csv"
    dataset.write_csv(rows, path)
    read = dataset.read_csv(path)
    np.testing.assert_allclose(read.inputs(), rows.inputs(), rtol=1e-8)
    np.testing.assert_allclose(read.response_time_ms, rows.response_time_ms, rtol=1e-8)
    np.testing.assert_array_equal(read.time_s, rows.time_s)
    assert np.isnan(read.primary.memory[3])
    dataset.write_csv(read, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == path.read_bytes()
    assert dataset.read_csv(tmp_path / "again.csv").digest() == read.digest()


def test_inputs_follow_the_schema(rows: Dataset) -> None:
    x = rows.inputs()
    assert x.shape == (200, 14)
    at = FEATURE_NAMES.index
    np.testing.assert_array_equal(x[:, at("primary.scheduling_ratio")], rows.ratio)
    np.testing.assert_array_equal(x[:, at("secondary.scheduling_ratio")], 1.0 - rows.ratio)
    np.testing.assert_array_equal(x[:, at("secondary.cpu_max")], rows.secondary.cpu_max)


def text_of(rows: Dataset, tmp_path: Path) -> list[str]:
    dataset.write_csv(rows, tmp_path / "rows.csv")
    return (tmp_path / "rows.csv").read_text().splitlines()


def test_order_of_rows_and_columns_does_not_matter(rows: Dataset, tmp_path: Path) -> None:
    lines = text_of(rows, tmp_path)
    straight = dataset.parse_csv("\n".join(lines), "a")
    turned = [",".join(reversed(line.split(","))) for line in [lines[0], *reversed(lines[1:])]]
    assert dataset.parse_csv("\n".join(turned), "b").digest() == straight.digest()


def test_rows_without_label_or_ratio_are_left_out(rows: Dataset, tmp_path: Path) -> None:
    lines = text_of(rows, tmp_path)
    lines[1] = lines[1].rsplit(",", 1)[0] + ","
    cells = lines[2].split(",")
    cells[-2] = ""
    lines[2] = ",".join(cells)
    assert len(dataset.parse_csv("\n".join(lines), "a")) == 198


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("ratio", "50", "0..1"),
        ("primary_cpu_avg", "83", "0..1"),
        ("secondary_request_rate_rps", "-1", "not negative"),
        ("secondary_memory", "much", "line 2"),
        ("response_time_ms", "0", "above 0"),
        ("response_time_ms", "1e-300", "above 0"),
        ("response_time_ms", "1e300", "at the most"),
        ("primary_ingress_bandwidth_bps", "1e300", "at the most"),
        ("primary_request_rate_rps", "1" + "0" * 5000, "at the most"),
        ("primary_request_rate_rps", "1_000", "line 2"),
        ("secondary_request_rate_rps", "١٢", "line 2"),
        ("time_s", "1740787200000", "epoch seconds"),
        ("time_s", "1e300", "epoch seconds"),
        ("time_s", "-60", "epoch seconds"),
    ],
)
def test_an_impossible_cell_is_named(
    rows: Dataset, tmp_path: Path, column: str, cell: str, message: str
) -> None:
    lines = text_of(rows, tmp_path)
    cells = lines[1].split(",")
    cells[COLUMNS.index(column)] = cell
    lines[1] = ",".join(cells)
    with pytest.raises(Invalid, match=message):
        dataset.parse_csv("\n".join(lines), "rows.csv")


def test_what_stands_twice_counts_once(rows: Dataset, tmp_path: Path) -> None:
    lines = text_of(rows, tmp_path)
    straight = dataset.parse_csv("\n".join(lines), "a")
    assert np.isnan(straight.primary.memory).any()
    twice = dataset.parse_csv("\n".join([*lines, *lines[1:]]), "b")
    assert twice.digest() == straight.digest()


def test_two_rows_about_one_time_are_refused(rows: Dataset, tmp_path: Path) -> None:
    lines = text_of(rows, tmp_path)
    other = lines[7].split(",")
    other[1] = "1.5"
    with pytest.raises(Invalid, match=f"time_s {float(other[0]):.13g}") as refused:
        dataset.parse_csv("\n".join([*lines, ",".join(other)]), "rows.csv")
    assert refused.value.code == "dataset_time_twice"


def test_a_mark_of_byte_order_is_no_part_of_the_header(rows: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "saved.csv"
    path.write_text("\n".join(text_of(rows, tmp_path)), encoding="utf-8-sig")
    assert len(dataset.read_csv(path)) == len(rows)


@pytest.mark.parametrize("damage", ['"' + "x" * 200_000, '"a'])
def test_what_is_no_csv_is_told(rows: Dataset, tmp_path: Path, damage: str) -> None:
    with pytest.raises(Invalid, match="rows"):
        dataset.parse_csv("\n".join([*text_of(rows, tmp_path), damage]), "rows.csv")


def test_missing_columns_short_rows_and_no_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"missing columns .*primary_cpu_avg"):
        dataset.parse_csv("time_s,ratio\n1,0.5\n", "rows.csv")
    with pytest.raises(Invalid, match="missing columns"):
        dataset.parse_csv("", "rows.csv")
    with pytest.raises(Invalid, match="line 2: 1 cells"):
        dataset.parse_csv(",".join(COLUMNS) + "\n5\n", "rows.csv")
    with pytest.raises(Invalid, match=r"nothing\.csv"):
        dataset.read_csv(tmp_path / "nothing.csv")


def test_a_header_alone_is_an_empty_data_set() -> None:
    assert len(dataset.parse_csv(",".join(COLUMNS) + "\n", "rows.csv")) == 0
