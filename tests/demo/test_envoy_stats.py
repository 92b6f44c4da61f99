import json

import pytest

from controlplane.demo.envoy_stats import ZoneCounts, parse

STEM = "cluster.tickets.zone.edge.primary.upstream_rq_"


def body(completed: int, errors: int, bins: list[tuple[float, float, int]]) -> bytes:
    totals = [{"lower_bound": low, "width": width, "count": count} for low, width, count in bins]
    return json.dumps(
        {
            "stats": [
                {"name": STEM + "completed", "value": completed},
                {"name": STEM + "5xx", "value": errors},
                {"name": STEM + "200", "value": completed - errors},
                {"name": "cluster.tickets.lb_zone_cluster_too_small", "value": 0},
                {"histograms": {"details": [{"name": STEM + "time", "totals": totals}]}},
            ]
        }
    ).encode()


def test_counts_and_times_by_cluster_and_zone() -> None:
    counts = parse(body(4, 1, [(50.0, 1.0, 3), (200.0, 10.0, 1)]))["tickets", "primary"]
    assert (counts.completed, counts.errors) == (4, 1)
    assert counts.mean_ms() == pytest.approx((3 * 50.5 + 205.0) / 4)
    assert counts.quantile_ms(0.5) == 50.5
    assert counts.quantile_ms(0.99) == 205.0


def test_difference_of_two_readings() -> None:
    older = parse(body(4, 1, [(50.0, 1.0, 3), (200.0, 10.0, 1)]))["tickets", "primary"]
    newer = parse(body(6, 1, [(50.0, 1.0, 3), (70.0, 1.0, 2), (200.0, 10.0, 1)]))
    added = newer["tickets", "primary"].since(older)
    assert (added.completed, added.errors, added.times) == (2, 0, {(70.0, 1.0): 2})


def test_an_envoy_that_started_anew_counts_from_zero() -> None:
    newer = ZoneCounts(completed=2, errors=0, times={(70.0, 1.0): 2})
    assert newer.since(ZoneCounts(completed=100, errors=3)) == newer


def test_without_requests_there_is_no_time() -> None:
    assert ZoneCounts().mean_ms() is None
    assert ZoneCounts().quantile_ms(0.99) is None
