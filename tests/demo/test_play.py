"""The demo's own judgements: figures, pacing, fleet. The play itself runs in tests/acceptance."""

import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.api.fleet_document import parsing, rendering
from controlplane.demo.acts import Live
from controlplane.demo.commissioning import Commissioned
from controlplane.demo.figures import compare
from controlplane.demo.fleet import PRIMARY, SECONDARY, demo_fleet, lane_names, lane_service
from controlplane.demo.launch import new_layout
from controlplane.demo.measuring import Measurements
from controlplane.demo.options import LEARNED_LANE, DemoOptions
from controlplane.demo.pacing import LARGEST_TRIM, Pace
from controlplane.demo.report import Report
from controlplane.demo.run import run
from controlplane.demo.traffic import LaneFigures, Outage
from controlplane.domain.errors import Invalid
from controlplane.domain.fleet_order import normalized
from controlplane.domain.services import StrategyName

PACE = Pace(background=0.2, target=0.8)


def _lanes(**mean_ms: float) -> dict[str, LaneFigures]:
    means = dict.fromkeys(lane_names(), 100.0) | mean_ms
    return {name: LaneFigures(ok=1000, mean_ms=ms) for name, ms in means.items()}


def test_gains_are_judged_against_equal_best_and_capacity() -> None:
    comparison = compare(_lanes(tickets=85.0, capacity=90.0, s60=80.0))
    assert comparison.best_static == "s60"
    assert comparison.response_time_change_pct == pytest.approx(-15.0)
    assert comparison.gain_share_of_best_static == pytest.approx(0.75)
    assert comparison.vs_capacity_ratio_pct == pytest.approx(-5.56, abs=0.01)


def test_a_worse_learned_lane_is_shown_as_worse() -> None:
    comparison = compare(_lanes(tickets=120.0, s60=80.0))
    assert comparison.response_time_change_pct == pytest.approx(20.0)
    assert comparison.gain_share_of_best_static == pytest.approx(-1.0)


def test_a_lane_without_answers_cannot_be_compared() -> None:
    lanes = {**_lanes(), "s55": LaneFigures()}
    with pytest.raises(ValueError, match="s55 answered nothing"):
        compare(lanes)


def test_failures_of_all_lanes_are_counted_by_reason() -> None:
    lanes = _lanes()
    lanes["equal"] = LaneFigures(ok=998, mean_ms=100.0, failures={"503": 1, "timeout": 1})
    lanes["s55"] = LaneFigures(ok=999, mean_ms=100.0, failures={"503": 1})
    comparison = compare(lanes)
    assert comparison.failures == {"503": 2, "timeout": 1}
    assert comparison.failed == 3


def test_the_pace_finds_the_rate_of_the_target() -> None:
    # Requests load the centre in proportion: 60/s gave 0.68 with 0.20 of batch load.
    assert PACE.rate_rps(60.0, 0.68) == pytest.approx(75.0)
    assert PACE.trim(0.80, 1.0, 1.0, 0.5) == pytest.approx(1.0)
    assert PACE.trim(0.78, 1.0, 1.0, 0.5) == pytest.approx(0.62 / 0.58)
    assert PACE.trim(0.60, 1.0, 1.0, 0.9) == 1 + LARGEST_TRIM
    # Half of the time at 1.1 gave the target: the load itself is too low by that much.
    assert PACE.trim(0.80, 1.1, 1.0, 0.5) == pytest.approx(1.1)
    # A trace that began low and will be high needs no trim to reach the target.
    assert PACE.trim(0.2 + 0.6 * 0.96, 0.96, 1.04, 0.5) == pytest.approx(1.0)


def test_the_fleet_is_a_valid_document_with_one_service_a_lane() -> None:
    layout = new_layout()
    learned = lane_service(layout, LEARNED_LANE, StrategyName.HYBRID)
    fleet = demo_fleet(layout, learned)
    assert parsing.parse(rendering.render(fleet)) == normalized(fleet)
    assert {service.name for service in fleet.services} == set(lane_names())
    assert len(learned.cluster(PRIMARY).endpoints) == 8
    assert len(learned.cluster(SECONDARY).endpoints) == 5
    assert learned.cluster(PRIMARY).capacity_rps == pytest.approx(100.0)


def test_utilization_counts_the_periods_of_the_time_only() -> None:
    measured = Measurements()
    measured.utilization["equal", SECONDARY] += [(1.0, 0.1), (2.0, 0.7), (3.0, 0.9), (4.0, 0.2)]
    assert measured.mean_utilization(("equal", SECONDARY), 1.0, 3.0) == pytest.approx(0.8)
    assert measured.mean_utilization(("equal", PRIMARY), 1.0, 3.0) is None
    assert measured.newest(("equal", SECONDARY)) == 0.2


def test_the_report_is_flat_and_named_as_documented() -> None:
    report = Report(
        minutes=5.0,
        seconds_to_live=130.0,
        live=Live(
            comparison=compare(_lanes(tickets=85.0, s60=80.0)),
            equal_split_utilisation=0.8012,
            weight_changes=3,
        ),
        commissioned=Commissioned(rows=60, model="ab" * 32, scores={}),
        outage=Outage(failed=0, late=0, last_bad_after_s=0.0, slowest_s=0.4),
        envoy_acks=9,
        envoy_nacks=0,
    )
    flat = report.flat()
    assert flat["equal_split_utilisation"] == 0.8012
    assert flat["response_time_change_pct"] == -15.0
    assert flat["failover_seconds"] == 0.0
    assert replace(report, minutes=1.0).flat()["minutes"] == 1.0


@pytest.mark.parametrize("after_s", [1.0, 4.0])
def test_an_interruption_ends_everything(tmp_path: Path, after_s: float) -> None:
    directory = tmp_path / "work"
    demo = subprocess.Popen(
        [sys.executable, "-m", "controlplane", "demo", "--directory", str(directory)],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(after_s)
    demo.send_signal(signal.SIGINT)
    assert demo.wait(10) == 130
    left = subprocess.run(["pgrep", "-f", str(directory)], check=False, capture_output=True)
    assert left.stdout == b""


def test_a_folder_with_content_is_refused(tmp_path: Path) -> None:
    (tmp_path / "something").touch()
    with pytest.raises(Invalid, match="not empty"):
        run(DemoOptions(directory=tmp_path))
