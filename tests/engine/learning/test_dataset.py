import csv
import io
from dataclasses import replace

import pytest

from controlplane.domain.decisions import Split
from controlplane.domain.errors import Invalid
from controlplane.domain.services import Service
from controlplane.domain.telemetry import Sample
from controlplane.engine.learning.dataset import COLUMNS, RowMaker, columns_of, pieces
from tests.builders import sample, service
from tests.fakes.stores import MemorySampleStore


def _split(time_s: float, primary: float) -> Split:
    return Split(time_s=time_s, shares={"beijing-1": primary, "beijing-2": 1 - primary})


def dataset(of: Service, samples: list[Sample], splits: list[Split], period_s: float) -> str:
    maker = RowMaker(of, splits, period_s)
    ordered = sorted(samples, key=lambda one: (one.time_s, one.datacenter))
    return maker.feed(ordered[:1]) + maker.feed(ordered[1:]) + maker.end()


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


def test_a_minute_without_a_response_time_is_left_out_alone() -> None:
    samples = [
        sample(center, time_s, response_time_ms=0.0 if time_s == 180.0 else 40.0)
        for time_s in (60.0, 120.0, 180.0, 240.0)
        for center in ("beijing-1", "beijing-2")
    ]
    rows = _rows(dataset(service(), samples, [], 60.0))
    assert [float(row["time_s"]) for row in rows] == [60.0, 180.0]
    assert {float(row["response_time_ms"]) for row in rows} == {40.0}


def test_one_center_is_refused() -> None:
    alone = replace(service(), clusters=service().clusters[:1])
    with pytest.raises(Invalid, match="has 1 data centres"):
        dataset(alone, [], [], 60.0)


def test_of_more_than_two_each_has_a_block_of_columns_with_its_name() -> None:
    names = ("beijing-1", "beijing-2", "shanghai-1")
    first = service().clusters[0]
    three = replace(service(), clusters=tuple(replace(first, datacenter=name) for name in names))
    samples = [
        sample(name, time_s, request_rate_rps=10.0 * at, response_time_ms=20.0 * at)
        for time_s in (60.0, 120.0, 180.0, 240.0)
        for at, name in enumerate(names, 1)
        if (time_s, at) != (240.0, 2)
    ]
    splits = [
        Split(time_s=100.0, shares=dict(zip(names, (0.5, 0.3, 0.2), strict=True))),
        Split(time_s=170.0, shares={"beijing-1": 1.0}),
    ]
    text = dataset(three, samples, splits, 60.0)
    assert tuple(text.splitlines()[0].split(",")) == columns_of(names)
    observed, in_force = _rows(text)
    assert [float(observed[f"{name}:scheduling_ratio"]) for name in names] == [1 / 6, 1 / 3, 0.5]
    assert [float(in_force[f"{name}:scheduling_ratio"]) for name in names] == [0.5, 0.3, 0.2]
    assert float(in_force["shanghai-1:traffic_share"]) == 0.5
    assert in_force["shanghai-1:memory"] == ""
    assert float(in_force["response_time_ms"]) == pytest.approx(2800 / 60)


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


async def test_pieces_of_the_store_join_without_a_seam() -> None:
    store = MemorySampleStore()
    times = [60.0 * n for n in range(1, 1_302)]
    await store.append([sample(c, t) for t in times for c in ("beijing-1", "beijing-2")])
    maker = RowMaker(service(), [], 60.0)
    parts = [part async for part in pieces(maker, store, 120.0)]
    assert len(parts) == 4
    assert [float(row["time_s"]) for row in _rows("".join(parts))] == times[1:-1]
    assert maker.rows == 1_299


async def test_only_wanted_rows_and_the_header_in_any_case() -> None:
    store = MemorySampleStore()
    maker = RowMaker(service(), [], 60.0, lambda time_s: time_s == 120.0)
    for time_s in (60.0, 120.0, 180.0):
        await store.append([sample(center, time_s) for center in ("beijing-1", "beijing-2")])
    text = "".join([part async for part in pieces(maker, store, 0.0)])
    assert [float(row["time_s"]) for row in _rows(text)] == [120.0]
    assert maker.rows == 1
    empty = [part async for part in pieces(RowMaker(service(), [], 60.0), MemorySampleStore(), 0.0)]
    assert "".join(empty).strip().split(",") == list(COLUMNS)


def test_a_suspicious_sample_is_as_good_as_none() -> None:
    samples = [
        sample(center, time_s)
        for time_s in (60.0, 120.0, 180.0, 240.0, 300.0)
        for center in ("beijing-1", "beijing-2")
    ]
    samples[4] = replace(samples[4], suspicion="metrics_jumped", request_rate_rps=4e6)
    rows = _rows(dataset(service(), samples, [], 60.0))
    assert [float(row["time_s"]) for row in rows] == [60.0, 240.0]


def test_senders_at_the_half_of_a_period_lose_no_row() -> None:
    samples = [sample(c, 30.0 + 60.0 * n) for n in range(20) for c in ("beijing-1", "beijing-2")]
    rows = _rows(dataset(service(), samples, [], 60.0))
    assert [float(row["time_s"]) for row in rows] == [30.0 + 60.0 * n for n in range(19)]
