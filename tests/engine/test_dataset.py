import csv
import io
from dataclasses import replace

import pytest

from controlplane.domain.decisions import Decision, Trigger
from controlplane.domain.errors import Invalid
from controlplane.domain.guardrails.state import GuardState, Outcome
from controlplane.engine.dataset import COLUMNS, dataset
from tests.builders import sample, service


def _decision(time_s: float, primary: float) -> Decision:
    return Decision(
        id=f"tickets@{time_s}",
        time_s=time_s,
        service="tickets",
        trigger=Trigger.TIMER,
        strategy="static",
        centers=("beijing-1", "beijing-2"),
        applied=(0.5, 0.5),
        proposed=(primary, 1 - primary),
        decided=(primary, 1 - primary),
        outcome=Outcome.MOVED,
        curve=(),
        notes=(),
        samples=(),
        state=GuardState(),
    )


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_row_joins_metrics_with_the_next_period() -> None:
    samples = [
        sample("beijing-1", 60.0, request_rate_rps=30.0, response_time_ms=40.0),
        sample("beijing-2", 60.0, request_rate_rps=10.0, response_time_ms=80.0),
        sample("beijing-1", 120.0, request_rate_rps=10.0, response_time_ms=100.0),
        sample("beijing-2", 120.0, request_rate_rps=30.0, response_time_ms=20.0),
    ]
    text = dataset(service(), samples[::-1], [_decision(50.0, 0.55)], 60.0)
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
