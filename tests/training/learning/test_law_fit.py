"""The law fit: known parameters come back, and an undetermined fit says so."""

import dataclasses

import numpy as np
import pytest

from controlplane.domain.strategies.queue_law import CenterLaw, response_time_ms, utilization
from training.dataset import CenterSeries, Dataset
from training.learning.law_fit import Declared, LawFit, LawRows, fit_law
from training.simulation import simulator, weather
from training.simulation.arrivals import DAY_MINUTES
from training.simulation.center import CenterWorld
from training.simulation.world import World, load_world

# Up to here a month hardly goes: 1 % of its minutes are above 0.85.
LOADS = np.linspace(0.2, 0.9, 30)


def month(world: World) -> Dataset:
    minutes = 31 * DAY_MINUTES + 1
    drawn = weather.draw(world, minutes, 0)
    return simulator.simulate(world, drawn, weather.operator_ratio(world, minutes, 0))


def fit(series: CenterSeries, center: CenterWorld) -> LawFit:
    rows = LawRows(
        response_time_ms=series.response_time_ms,
        cpu=series.cpu_avg,
        rate_rps=series.request_rate_rps,
    )
    declared = Declared(servers=center.servers, idle_cpu=center.idle_cpu, full_cpu=center.full_cpu)
    return fit_law(rows, declared)


def error_where_seen(found: CenterLaw, true: CenterLaw, series: CenterSeries) -> float:
    """Largest relative error for the same CPU reading, over 98 % of those in the rows."""
    known = series.cpu_avg[np.isfinite(series.cpu_avg)]
    cpu = np.linspace(*np.quantile(known, [0.01, 0.99]), 30)
    one, other = (response_time_ms(law, utilization(law, cpu)) for law in (found, true))
    return float(np.abs(np.log(one / other)).max())


def error_beyond(found: CenterLaw, true: CenterLaw) -> float:
    """The same where the law is carried on past what was seen, up to `LOADS`."""
    ratio = response_time_ms(found, LOADS) / response_time_ms(true, LOADS)
    return float(np.abs(np.log(ratio)).max())


def test_a_month_of_w1_gives_the_true_law() -> None:
    world = load_world("W1")
    rows = month(world)
    for series, center in ((rows.primary, world.primary), (rows.secondary, world.secondary)):
        found = fit(series, center)
        assert found.trusted, found.reason
        assert found.law.base_ms == pytest.approx(center.law.base_ms, rel=0.02)
        assert found.law.wait_ms == pytest.approx(center.law.wait_ms, rel=0.15)
        assert found.law.saturation == pytest.approx(1.0, abs=0.02)
        assert error_where_seen(found.law, center.law, series) < 0.03
        assert error_beyond(found.law, center.law) < 0.1
        assert found.error_ratio < 0.02


def test_a_hidden_bottleneck_is_found_from_logs() -> None:
    world = load_world("W1")
    limited = dataclasses.replace(world.secondary, saturation=0.6)
    world = dataclasses.replace(world, centers=(world.primary, limited))
    found = fit(month(world).secondary, limited)
    assert found.trusted, found.reason
    assert found.law.saturation == pytest.approx(0.6, abs=0.02)


def sweep(seed: int, rows: int = 100, noise: float = 0.1) -> list[tuple[LawRows, CenterLaw]]:
    """A commissioning sweep over 0.40..0.65: workers 8 and 5, hot at an equal split."""
    rng = np.random.default_rng(seed)
    ratio = np.repeat(np.linspace(0.40, 0.65, 12), -(-rows // 12))[:rows]
    load_rps = rng.uniform(0.75, 1.0, rows) * 260.0
    centers = []
    for share, servers in ((ratio, 8.0), (1.0 - ratio, 5.0)):
        law = CenterLaw(base_ms=33.0, contention=0.0, wait_ms=30.0 / servers, servers=servers)
        use = load_rps * share * 0.030 / servers + rng.uniform(0.0, 0.1, rows)
        drawn = np.exp(noise * rng.standard_normal(rows))
        measured = LawRows(
            response_time_ms=response_time_ms(law, use) * drawn,
            cpu=np.clip(use * np.exp(0.03 * rng.standard_normal(rows)), 0, 1),
            rate_rps=load_rps * share,
        )
        centers.append((measured, law))
    return centers


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rows", [60, 150])
def test_a_short_noisy_sweep_is_enough_to_choose_a_good_ratio(seed: int, rows: int) -> None:
    centers = sweep(seed, rows)
    fits = [
        fit_law(measured, Declared(servers=law.servers, idle_cpu=0.0, full_cpu=1.0))
        for measured, law in centers
    ]
    assert all(found.trusted for found in fits), [found.reason for found in fits]
    grid = np.arange(0.40, 0.80, 0.01)

    def mean_ms(laws: list[CenterLaw]) -> np.ndarray:
        use = [
            260.0 * share * 0.030 / law.servers + 0.05
            for share, law in zip((grid, 1 - grid), laws, strict=True)
        ]
        first, second = (response_time_ms(law, u) for law, u in zip(laws, use, strict=True))
        return np.asarray(grid * first + (1 - grid) * second)

    true = mean_ms([law for _, law in centers])
    chosen = mean_ms([found.law for found in fits]).argmin()
    assert true[chosen] <= 1.03 * true.min()


def test_servers_are_estimated_when_not_declared() -> None:
    world = load_world("W1")
    series = month(world).primary
    rows = LawRows(
        response_time_ms=series.response_time_ms,
        cpu=series.cpu_avg,
        rate_rps=series.request_rate_rps,
    )
    found = fit_law(rows, Declared(idle_cpu=world.primary.idle_cpu, full_cpu=0.98))
    # Powers of two are tried, and neighbours explain the same rows: only the curve is determined.
    assert found.law.servers in (8.0, 16.0, 32.0)
    assert error_where_seen(found.law, world.primary.law, series) < 0.03
    nothing_declared = fit_law(rows, Declared())
    assert nothing_declared.trusted
    assert error_where_seen(nothing_declared.law, world.primary.law, series) < 0.05


def rows_of(response_time_ms: np.ndarray, cpu: np.ndarray) -> LawRows:
    return LawRows(response_time_ms=response_time_ms, cpu=cpu, rate_rps=100.0 * cpu)


def test_too_few_rows_are_not_trusted() -> None:
    found = fit_law(rows_of(np.full(20, 50.0), np.linspace(0.2, 0.8, 20)), Declared())
    assert not found.trusted
    assert "at least 30" in found.reason
    assert found.law.base_ms == 50.0


def test_missing_cpu_is_not_trusted() -> None:
    found = fit_law(rows_of(np.full(100, 50.0), np.full(100, np.nan)), Declared())
    assert not found.trusted
    assert "0 usable rows" in found.reason


def test_a_load_that_does_not_vary_is_not_trusted() -> None:
    rng = np.random.default_rng(0)
    found = fit_law(
        rows_of(50.0 * np.exp(0.05 * rng.standard_normal(200)), rng.normal(0.5, 0.005, 200)),
        Declared(servers=8, idle_cpu=0.0, full_cpu=1.0),
    )
    assert not found.trusted
    assert "spans" in found.reason


def test_response_times_without_a_cause_are_not_trusted() -> None:
    rng = np.random.default_rng(0)
    found = fit_law(
        rows_of(np.exp(rng.normal(4.0, 1.0, 300)), rng.uniform(0.2, 0.9, 300)),
        Declared(servers=8, idle_cpu=0.0, full_cpu=1.0),
    )
    assert not found.trusted
    assert "scatter" in found.reason


@pytest.mark.parametrize("seed", [0, 1])
def test_a_knee_is_not_taken_for_a_bottleneck(seed: int) -> None:
    """In W3 garbage collection begins at 62 % of the load, and the centres go on to be full."""
    world = load_world("W3")
    minutes = 14 * DAY_MINUTES + 1
    drawn = weather.draw(world, minutes, seed)
    rows = simulator.simulate(world, drawn, weather.operator_ratio(world, minutes, seed))
    for series in (rows.primary, rows.secondary):
        columns = LawRows(
            response_time_ms=series.response_time_ms,
            cpu=series.cpu_avg,
            rate_rps=series.request_rate_rps,
        )
        assert fit_law(columns, Declared()).law.saturation > 0.7
