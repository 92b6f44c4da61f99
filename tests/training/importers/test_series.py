"""Public series: what is read, in which order, and what is refused."""

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from controlplane.domain.errors import Invalid
from training.importers.series import read_series

SERIES = Path(str(files("data").joinpath("series")))


@pytest.mark.parametrize(
    ("name", "rows", "step_s"),
    [
        ("elb_request_count", 4032, 300.0),
        ("ec2_cpu_utilization", 4032, 300.0),
        ("ec2_network_in", 4032, 300.0),
        ("nyc_taxi", 5232, 1800.0),
    ],
)
def test_the_stored_series_are_whole(name: str, rows: int, step_s: float) -> None:
    time_s, value = read_series(SERIES / f"{name}.csv")
    assert time_s.shape == value.shape == (rows,)
    assert np.median(np.diff(time_s)) == step_s
    assert np.isfinite(value).all()


def test_rows_are_put_in_order_and_an_empty_cell_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "series.csv"
    path.write_text("value,timestamp\n,2020-01-01 00:05:00\n7,2020-01-01 00:00:00\n")
    time_s, value = read_series(path)
    assert time_s.tolist() == [1_577_836_800.0, 1_577_837_100.0]
    assert value[0] == 7.0
    assert np.isnan(value[1])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the columns are nothing"),
        ("time,value\n", "the columns are time, value"),
        ("timestamp,value\n2020-01-01,1\nnever,2\n", "line 3: 'never'"),
        ("timestamp,value\n2020-01-01,much\n", "line 2: could not convert"),
        ("timestamp,value\n2020-01-01,1\n2020-01-01,2\n", "1577836800 s stands twice"),
        ("timestamp,value\n\x00,1\n", "line"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "series.csv"
    path.write_text(text)
    with pytest.raises(Invalid, match=words):
        read_series(path)


def test_no_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="nothing"):
        read_series(tmp_path / "nothing.csv")
