"""Data sets that name their centers: CSV round trip, the API's format, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from controlplane.domain.errors import Invalid
from controlplane.engine.learning import dataset as export
from training import site_dataset
from training.simulation import simulator, weather
from training.simulation.world import load_world
from training.site_dataset import SiteDataset, columns_of

NAMES = ("center-1", "center-2", "center-3", "center-4")


@pytest.fixture(scope="module")
def rows() -> SiteDataset:
    world = load_world("W1x4")
    drawn = weather.draw(world, 101, 0)
    return simulator.simulate_site(world, drawn, weather.operator_shares(world, 101, 0))


def text_of(rows: SiteDataset, folder: Path) -> list[str]:
    site_dataset.write_csv(rows, folder / "rows.csv")
    return (folder / "rows.csv").read_text().splitlines()


def read(folder: Path, lines: list[str]) -> SiteDataset:
    (folder / "changed.csv").write_text("\n".join(lines))
    return site_dataset.read_csv(folder / "changed.csv")


def test_the_columns_are_those_that_the_control_plane_exports() -> None:
    assert columns_of(NAMES) == export.columns_of(NAMES)


def test_csv_round_trip(rows: SiteDataset, tmp_path: Path) -> None:
    path = tmp_path / "new" / "rows.csv"
    site_dataset.write_csv(rows, path)
    assert site_dataset.is_site(path)
    loaded = site_dataset.read_csv(path)
    assert loaded.centers == NAMES
    assert len(loaded) == len(rows) == 100
    np.testing.assert_allclose(loaded.shares, rows.shares)
    np.testing.assert_allclose(loaded.series[3].cpu_avg, rows.series[3].cpu_avg)
    site_dataset.write_csv(loaded, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == path.read_bytes()
    assert site_dataset.read_csv(tmp_path / "again.csv").digest() == loaded.digest()


def test_the_label_is_of_the_next_minute(rows: SiteDataset) -> None:
    rates = np.stack([one.request_rate_rps for one in rows.series])
    times = np.stack([one.response_time_ms for one in rows.series])
    mean_ms = (rates * times).sum(axis=0) / rates.sum(axis=0)
    np.testing.assert_allclose(rows.response_time_ms[:-1], mean_ms[1:])


def test_rows_without_a_label_are_left_out_and_the_rest_is_ordered(
    rows: SiteDataset, tmp_path: Path
) -> None:
    lines = text_of(rows, tmp_path)
    lines[1] = lines[1].rpartition(",")[0] + ","
    loaded = read(tmp_path, [lines[0], *reversed(lines[1:])])
    assert len(loaded) == 99
    assert (np.diff(loaded.time_s) > 0).all()


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("center-2:cpu_avg", "83", "center-2:cpu_avg must be 0..1"),
        ("center-3:scheduling_ratio", "-0.1", "must be 0..1"),
        ("center-1:request_rate_rps", "-1", "finite and not negative"),
        ("center-4:memory", "much", "line 2: could not convert"),
        ("response_time_ms", "0", "above 0"),
    ],
)
def test_an_impossible_cell_is_named(
    rows: SiteDataset, tmp_path: Path, column: str, cell: str, message: str
) -> None:
    lines = text_of(rows, tmp_path)
    cells = lines[1].split(",")
    cells[columns_of(NAMES).index(column)] = cell
    lines[1] = ",".join(cells)
    with pytest.raises(Invalid, match=message):
        read(tmp_path, lines)


def test_other_columns_short_rows_and_no_file_are_named(rows: SiteDataset, tmp_path: Path) -> None:
    lines = text_of(rows, tmp_path)
    with pytest.raises(Invalid, match="the columns must be time_s"):
        read(tmp_path, [lines[0].replace("center-2:disk", "center-2:dsik"), *lines[1:]])
    with pytest.raises(Invalid, match="for each of two or more centers"):
        read(tmp_path, [])
    with pytest.raises(Invalid, match="line 2: 1 cells, expected 38"):
        read(tmp_path, [lines[0], "5"])
    with pytest.raises(Invalid, match=r"nothing\.csv"):
        site_dataset.read_csv(tmp_path / "nothing.csv")
    assert not site_dataset.is_site(tmp_path / "nothing.csv")
