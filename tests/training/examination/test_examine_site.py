"""Four data centers: sound rows pass, and poisoned ones are refused with the reason."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from models.artifact import ModelArtifact
from models.examination import objection
from training.examination.examine_site import examine_site
from training.learning.law_fit import Declared
from training.learning.site_version import SiteJob, train_site
from training.simulation import simulator, weather
from training.simulation.world import load_world
from training.site_dataset import SiteDataset

JOB = SiteJob(service="tickets", seed=0, created_at_s=0.0, declared=(Declared(servers=16.0),) * 4)


@pytest.fixture(scope="module")
def rows() -> SiteDataset:
    world = load_world("W1x4")
    drawn = weather.draw(world, 2_881, 5)
    return simulator.simulate_site(world, drawn, weather.operator_shares(world, 2_881, 5))


@pytest.fixture(scope="module")
def made(rows: SiteDataset) -> ModelArtifact:
    return train_site(rows, JOB)


def test_sound_rows_pass(rows: SiteDataset, made: ModelArtifact) -> None:
    found = examine_site(rows, made)
    assert objection(found) == ""
    codes = [check.code for check in found]
    assert len(codes) == len(set(codes))
    assert {"label_follows", "center-4_cpu_own", "center-1_response_own"} <= set(codes)


def shuffled(rows: SiteDataset) -> SiteDataset:
    order = np.random.default_rng(0).permutation(len(rows))
    return replace(rows, response_time_ms=rows.response_time_ms[order])


def other_unit(rows: SiteDataset) -> SiteDataset:
    return replace(rows, response_time_ms=rows.response_time_ms / 1000.0)


def half_in_seconds(rows: SiteDataset) -> SiteDataset:
    third = rows.series[2]
    times = third.response_time_ms.copy()
    times[: times.size // 2] /= 1000.0
    series = (*rows.series[:2], replace(third, response_time_ms=times), rows.series[3])
    return replace(rows, series=series)


def exchanged(rows: SiteDataset) -> SiteDataset:
    """The CPU of the first center stands at the third, and the reverse."""
    first, second, third, fourth = rows.series
    moved = (
        replace(first, cpu_avg=third.cpu_avg, cpu_max=third.cpu_max),
        second,
        replace(third, cpu_avg=first.cpu_avg, cpu_max=first.cpu_max),
        fourth,
    )
    return replace(rows, series=moved)


@pytest.mark.parametrize(
    ("poison", "code"),
    [
        (shuffled, "label_follows"),
        (other_unit, "label_follows"),
        (half_in_seconds, "center-3_response_unit"),
        (exchanged, "center-1_response_own"),
    ],
)
def test_poisoned_rows_are_told(
    rows: SiteDataset,
    made: ModelArtifact,
    poison: Callable[[SiteDataset], SiteDataset],
    code: str,
) -> None:
    assert code in objection(examine_site(poison(rows), made))


def test_a_center_without_traffic_does_not_spoil_the_label(
    rows: SiteDataset, made: ModelArtifact
) -> None:
    idle = replace(
        rows.series[3],
        traffic_share=np.zeros(len(rows)),
        response_time_ms=np.full(len(rows), np.nan),
    )
    others = [replace(one, traffic_share=np.full(len(rows), 1 / 3)) for one in rows.series[:3]]
    found = examine_site(replace(rows, series=(*others, idle)), made)
    assert "not decided" not in next(one.message for one in found if one.code == "label_follows")
