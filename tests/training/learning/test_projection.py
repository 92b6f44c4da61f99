"""Projection over rows equals what the strategies compute for one situation."""

import dataclasses

import numpy as np
import pytest

from controlplane.domain.services import Cluster, Endpoint, Service
from controlplane.domain.strategies.candidates import GRID, objective
from controlplane.domain.strategies.center_use import fitted_uses
from controlplane.domain.strategies.networks import projected_rows
from controlplane.domain.strategies.queue_law import CenterLaw
from controlplane.domain.strategies.situation import Center, LearnedModel, Situation
from controlplane.domain.telemetry import Sample, ServiceWindow, extended
from controlplane.domain.topology import Datacenter, Role
from training.dataset import METRICS, CenterSeries, Dataset
from training.learning.projection import greybox_ms, projected_inputs, total_load
from training.simulation import simulator, weather
from training.simulation.world import load_world

WORLD = load_world("W1")
LAWS = (WORLD.primary.law, WORLD.secondary.law)
NAMES = ("north", "south")


@pytest.fixture(scope="module")
def rows() -> Dataset:
    drawn = weather.draw(WORLD, 13, 0)
    return simulator.simulate(WORLD, drawn, weather.operator_ratio(WORLD, 13, 0))


def samples(name: str, series: CenterSeries, times: np.ndarray) -> list[Sample]:
    fields = [metric for metric in METRICS if metric != "traffic_share"]
    return [
        Sample(
            datacenter=name,
            service="tickets",
            time_s=float(time_s),
            received_s=float(time_s),
            **{field: float(getattr(series, field)[at]) for field in fields},
        )
        for at, time_s in enumerate(times)
    ]


def situation(rows: Dataset, laws: tuple[CenterLaw, ...]) -> Situation:
    window = ServiceWindow(service="tickets")
    for pair in zip(
        samples(NAMES[0], rows.primary, rows.time_s),
        samples(NAMES[1], rows.secondary, rows.time_s),
        strict=True,
    ):
        window = extended(window, list(pair), keep_s=3600.0)
    centers = tuple(
        Center(
            datacenter=Datacenter(name=name, role=role, region="north"),
            cluster=Cluster(
                datacenter=name,
                capacity_rps=400.0,
                endpoints=(Endpoint(address="127.0.0.1", port=9000),),
            ),
        )
        for name, role in zip(NAMES, (Role.PRIMARY, Role.SAME_CITY), strict=True)
    )
    return Situation(
        service=Service(name="tickets", clusters=tuple(c.cluster for c in centers)),
        centers=centers,
        window=window,
        applied=(0.5, 0.5),
        now_s=float(rows.time_s[-1]),
        model=LearnedModel(digest="m", laws=laws),
    )


@pytest.mark.parametrize("at", [0, 17, 30, 60])
def test_rows_are_projected_as_serving_projects(rows: Dataset, at: int) -> None:
    now = situation(rows, LAWS)
    asked = dataclasses.replace(rows, ratio=np.full(len(rows), GRID[at]))
    np.testing.assert_allclose(
        projected_inputs(asked, LAWS)[-1], projected_rows(now)[at], rtol=1e-12
    )
    expected = objective(now, LAWS, fitted_uses(now))[at]
    np.testing.assert_allclose(greybox_ms(asked, LAWS)[-1], expected, rtol=1e-12)


def test_missing_metrics_stay_missing(rows: Dataset) -> None:
    nothing = np.full(len(rows), np.nan)
    blind = dataclasses.replace(
        rows, secondary=dataclasses.replace(rows.secondary, cpu_avg=nothing)
    )
    assert np.isnan(greybox_ms(blind, LAWS)).all()
    x = projected_inputs(blind, LAWS)
    assert np.isnan(x[:, 7]).all()
    assert np.isfinite(x[:, :7]).all()


def test_bandwidth_stands_in_for_missing_rates(rows: Dataset) -> None:
    nothing = np.full(len(rows), np.nan)
    blind = dataclasses.replace(
        rows, primary=dataclasses.replace(rows.primary, request_rate_rps=nothing)
    )
    expected = rows.primary.ingress_bandwidth_bps + rows.secondary.ingress_bandwidth_bps
    np.testing.assert_array_equal(total_load(blind), expected)
    ratio = greybox_ms(blind, LAWS) / greybox_ms(rows, LAWS)
    np.testing.assert_allclose(ratio, 1.0, atol=0.05)


def test_the_true_laws_predict_the_label(rows: Dataset) -> None:
    drawn = weather.draw(WORLD, 3000, 1)
    many = simulator.simulate(WORLD, drawn, weather.operator_ratio(WORLD, 3000, 1))
    error = np.log(greybox_ms(many, LAWS) / many.response_time_ms)
    assert abs(np.median(error)) < 0.01
    assert np.median(np.abs(error)) < 0.06
