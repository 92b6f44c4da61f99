"""Laws for more than two centers: what is fitted, what is refused, and that it is the same law."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from controlplane.adapters.predictor import learned
from controlplane.domain.errors import Invalid
from controlplane.domain.features import SCHEMA_DIGEST
from controlplane.domain.strategies.queue_law import CenterLaw
from models import storage
from training.dataset import Dataset
from training.learning.law_fit import Declared
from training.learning.projection import greybox_ms, laws_ms
from training.learning.site_version import SiteJob, train_site
from training.simulation import simulator, weather
from training.simulation.world import load_world
from training.site_dataset import SiteDataset

LAW = CenterLaw(base_ms=50.0, contention=0.3, wait_ms=20.0, servers=16.0, idle_cpu=0.1)


def simulated(minutes: int) -> SiteDataset:
    world = load_world("W1x4")
    drawn = weather.draw(world, minutes, 1)
    return simulator.simulate_site(world, drawn, weather.operator_shares(world, minutes, 1))


def job(**declared: float) -> SiteJob:
    known = (Declared(servers=16.0, **declared),) * 4
    return SiteJob(service="tickets", seed=0, created_at_s=1.0, declared=known)


def cut(rows: SiteDataset, count: int) -> SiteDataset:
    return dataclasses.replace(
        rows,
        time_s=rows.time_s[:count],
        series=tuple(
            dataclasses.replace(
                one, **{f.name: getattr(one, f.name)[:count] for f in dataclasses.fields(one)}
            )
            for one in rows.series
        ),
        shares=rows.shares[:, :count],
        response_time_ms=rows.response_time_ms[:count],
    )


@pytest.fixture(scope="module")
def rows() -> SiteDataset:
    return simulated(1_441)


def test_each_center_gets_its_law_by_name(rows: SiteDataset, tmp_path: Path) -> None:
    made = train_site(rows, job())
    assert made.centers == ("center-1", "center-2", "center-3", "center-4")
    assert all(law.trusted for law in made.laws)
    # The fourth is 35 ms away, the first 10 ms.
    assert made.laws[3].base_ms > made.laws[0].base_ms + 15.0
    assert made.scores["greybox_mape_pct"] < 6.0
    assert made.scores["residual_spread"] == made.scores["greybox_residual_spread"]
    storage.save(made, tmp_path)
    loaded = storage.load(tmp_path, SCHEMA_DIGEST)
    assert loaded.digest == made.digest
    model = learned(loaded)
    assert model.centers == made.centers
    assert len(model.laws) == 4


def test_the_same_rows_give_the_same_version(rows: SiteDataset) -> None:
    first = train_site(rows, job())
    assert train_site(rows, dataclasses.replace(job(), created_at_s=9.0)).digest == first.digest
    assert train_site(rows, job(full_cpu=0.98)).digest != first.digest


def test_laws_that_the_rows_do_not_determine_are_refused_with_their_reasons(
    rows: SiteDataset,
) -> None:
    flat = dataclasses.replace(
        rows.series[2], cpu_avg=np.full(len(rows), 0.3), request_rate_rps=np.full(len(rows), 9.0)
    )
    series = (*rows.series[:2], flat, rows.series[3])
    with pytest.raises(Invalid, match=r"center-3: the load spans 0\.00") as caught:
        train_site(dataclasses.replace(rows, series=series), job())
    assert caught.value.code == "laws_untrusted"
    assert "center-1" not in caught.value.message


def test_loads_that_never_come_together_are_refused(rows: SiteDataset) -> None:
    nothing = np.full(len(rows), np.nan)
    dark = dataclasses.replace(
        rows.series[0], request_rate_rps=nothing, ingress_bandwidth_bps=nothing
    )
    with pytest.raises(Invalid, match="nothing to score by"):
        train_site(dataclasses.replace(rows, series=(dark, *rows.series[1:])), job())


def test_too_few_rows_and_another_number_of_machines(rows: SiteDataset) -> None:
    with pytest.raises(Invalid, match="30 complete rows, at least 40"):
        train_site(cut(rows, 30), job())
    three = dataclasses.replace(job(), declared=job().declared[:3])
    with pytest.raises(Invalid, match="3 numbers are declared for the 4 centers"):
        train_site(rows, three)


def test_two_named_centers_are_projected_as_the_published_two() -> None:
    world = load_world("W1")
    drawn = weather.draw(world, 301, 2)
    ratio = weather.operator_ratio(world, 301, 2)
    pair: Dataset = simulator.simulate(world, drawn, ratio)
    site = simulator.simulate_site(world, drawn, np.stack([ratio, 1.0 - ratio]))
    other = dataclasses.replace(LAW, base_ms=70.0)
    np.testing.assert_allclose(
        laws_ms(site.series, site.shares, (LAW, other)), greybox_ms(pair, (LAW, other))
    )


def test_bandwidth_stands_in_and_a_center_without_share_does_not_count(rows: SiteDataset) -> None:
    nothing = np.full(len(rows), np.nan)
    series = tuple(dataclasses.replace(one, request_rate_rps=nothing) for one in rows.series)
    by_bandwidth = laws_ms(series, rows.shares, (LAW,) * 4)
    by_rate = laws_ms(rows.series, rows.shares, (LAW,) * 4)
    assert np.median(by_bandwidth / by_rate) == pytest.approx(1.0, abs=0.01)
    shares = np.zeros_like(rows.shares)
    shares[0] = 1.0
    unknown = dataclasses.replace(rows.series[3], cpu_avg=nothing)
    alone = laws_ms((*rows.series[:3], unknown), shares, (LAW,) * 4)
    assert np.isfinite(alone).all()
