import csv
import io
from dataclasses import replace

import pytest

from controlplane.domain.decisions import Split
from controlplane.domain.errors import Invalid
from controlplane.engine.dataset import COLUMNS, dataset
from tests.builders import sample, service


def _split(time_s: float, primary: float) -> Split:
    return Split(time_s=time_s, shares={"beijing-1": primary, "beijing-2": 1 - primary})


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_row_joins_metrics_with_the_next_period() -> None:
    samples = [
        sample("beijing-1", 60.0, request_rate_rps=30.0, response_time_ms=40.0),
        sample("beijing-2", 60.0, request_rate_rps=10.0, response_time_ms=80.0),
        sample("beijing-1", 120.0, request_rate_rps=10.0, response_time_ms=100.0),
        sample("beijing-2", 120.0, request_rate_rps=30.0, response_time_ms=20.0),
    ]
    text = dataset(service(), samples[::-1], [_split(50.0, 0.55)], 60.0)
    assert text.splitlines()[0].split(",") == list(COLUMNS)
    (row,) = _rows(text)
    assert float(row["time_s"]) == 60.0
    assert float(row["ratio"]) == 0.55
    assert float(row["primary_traffic_share"]) == 0.75
    assert float(row["response_time_ms"]) == pytest.approx(40.0)
    assert row["primary_memory"] == ""


def test_gaps_make_no_rows() -> None:
    samples = [
        sample(center, time_s)
        for time_s in (60.0, 120.0, 600.0, 660.0)
        for center in ("beijing-1", "beijing-2")
    ]
    rows = _rows(dataset(service(), [*samples, sample("beijing-1", 720.0)], [], 60.0))
    assert [float(row["time_s"]) for row in rows] == [60.0, 600.0]
    assert {float(row["ratio"]) for row in rows} == {0.5}


def test_three_centers_are_refused() -> None:
    three = replace(service(), clusters=service().clusters[:1])
    with pytest.raises(Invalid, match="has 1 data centres"):
        dataset(three, [], [], 60.0)


def test_the_ratio_is_the_one_in_force() -> None:
    samples = [
        sample(center, time_s, request_rate_rps=20.0)
        for time_s in (60.0, 120.0, 180.0, 240.0, 300.0)
        for center in ("beijing-1", "beijing-2")
    ]
    renamed = Split(time_s=240.0, shares={"old": 0.7, "beijing-2": 0.3})
    splits = [_split(120.0, 0.6), _split(130.0, 0.7), renamed]
    rows = _rows(dataset(service(), samples, splits, 60.0))
    assert [(float(row["time_s"]), float(row["ratio"])) for row in rows] == [
        (60.0, 0.5),  # before the first split: what was observed
        (120.0, 0.6),
        (180.0, 0.7),
    ]
