"""Ways in which a training set can be wrong, each a function from rows to rows; and a confounder.

Used by the tests of the examination and by the acceptance test of poisoned data.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from training.dataset import CenterSeries, Dataset
from training.simulation import simulator, weather
from training.simulation.world import load_world

FloatArray = NDArray[np.float64]
Poison = Callable[[Dataset], Dataset]
DAY_MINUTES = 1440


def clean(world: str, days: int, seed: int) -> Dataset:
    """Logs of a world under its operator, as a file gives them: complete rows only."""
    place = load_world(world)
    minutes = days * DAY_MINUTES + 1
    ratio = weather.operator_ratio(place, minutes, seed)
    return _complete(simulator.simulate(place, weather.draw(place, minutes, seed), ratio))


def planted(world: str, days: int, seed: int, slower: float = 0.3, step: float = 0.05) -> Dataset:
    """A confounder: whenever something unrelated slows everything, the operator moves the ratio."""
    place = load_world(world)
    minutes = days * DAY_MINUTES + 1
    on = _episodes(minutes, seed)
    ratio = np.clip(weather.operator_ratio(place, minutes, seed) + step * on, 0.2, 0.8)
    rows = simulator.simulate(place, weather.draw(place, minutes, seed), ratio)
    factor = np.where(on, 1.0 + slower, 1.0)
    return replace(
        rows,
        primary=_slower(rows.primary, factor[:-1]),
        secondary=_slower(rows.secondary, factor[:-1]),
        response_time_ms=rows.response_time_ms * factor[1:],
    )


def shuffled_labels(rows: Dataset) -> Dataset:
    """Labels in any order; everything else as it was."""
    order = np.random.default_rng(0).permutation(len(rows))
    return replace(rows, response_time_ms=rows.response_time_ms[order])


def shuffled_responses(rows: Dataset) -> Dataset:
    """Labels and response times in any order, so that they still belong together."""
    order = np.random.default_rng(0).permutation(len(rows))
    times = (each.response_time_ms[order] for each in (rows.primary, rows.secondary))
    primary, secondary = times
    share = rows.primary.traffic_share
    mean_ms = share * primary + (1.0 - share) * secondary
    return replace(
        rows,
        primary=replace(rows.primary, response_time_ms=primary),
        secondary=replace(rows.secondary, response_time_ms=secondary),
        response_time_ms=np.append(mean_ms[1:], mean_ms[-1]),
    )


def seconds(rows: Dataset, part: float = 1.0) -> Dataset:
    """Response times in s instead of ms, in the first part of the rows."""
    factor = np.where(np.arange(len(rows)) < part * len(rows), 1e-3, 1.0)
    return replace(
        rows,
        primary=_slower(rows.primary, factor),
        secondary=_slower(rows.secondary, factor),
        response_time_ms=rows.response_time_ms * factor,
    )


def seconds_at_one(rows: Dataset) -> Dataset:
    """One centre reports s; its labels were made of that."""
    primary = _slower(rows.primary, np.full(len(rows), 1e-3))
    share = rows.primary.traffic_share
    mean_ms = share * primary.response_time_ms + (1 - share) * rows.secondary.response_time_ms
    return replace(rows, primary=primary, response_time_ms=np.append(mean_ms[1:], mean_ms[-1]))


def small_cpu(rows: Dataset, part: float = 1.0) -> Dataset:
    """CPU a hundredth of what it is, in the first part of the rows of one centre."""
    factor = np.where(np.arange(len(rows)) < part * len(rows), 1e-2, 1.0)
    cpu = {name: getattr(rows.primary, name) * factor for name in ("cpu_avg", "cpu_max")}
    return replace(rows, primary=replace(rows.primary, **cpu))


def percent(rows: Dataset) -> Dataset:
    """CPU in percent."""
    return replace(rows, secondary=replace(rows.secondary, cpu_avg=rows.secondary.cpu_avg * 100.0))


def bytes_for_bits(rows: Dataset) -> Dataset:
    """Bandwidth in bytes in some of the rows."""
    factor = np.where(np.arange(len(rows)) < 0.4 * len(rows), 1 / 8, 1.0)
    bandwidth = rows.primary.ingress_bandwidth_bps * factor
    return replace(rows, primary=replace(rows.primary, ingress_bandwidth_bps=bandwidth))


def exchanged_centers(rows: Dataset) -> Dataset:
    """All columns of one centre in place of the other's; ratio and label stay."""
    return replace(rows, primary=rows.secondary, secondary=rows.primary)


def exchanged(*names: str) -> Poison:
    """Some columns of one centre in place of the other's."""

    def poison(rows: Dataset) -> Dataset:
        return replace(
            rows,
            primary=_with(rows.primary, rows.secondary, names),
            secondary=_with(rows.secondary, rows.primary, names),
        )

    return poison


POISONS: Mapping[str, Poison] = {
    "shuffled labels": shuffled_labels,
    "shuffled responses": shuffled_responses,
    "seconds": seconds,
    "seconds in a third": lambda rows: seconds(rows, 0.3),
    "seconds at one centre": seconds_at_one,
    "a hundredth of CPU": small_cpu,
    "a hundredth of CPU in a fifth": lambda rows: small_cpu(rows, 0.2),
    "percent": percent,
    "bytes for bits": bytes_for_bits,
    "exchanged centres": exchanged_centers,
    "exchanged response times": exchanged("response_time_ms"),
    "exchanged CPU": exchanged("cpu_avg", "cpu_max"),
    "exchanged rates": exchanged("request_rate_rps"),
    "exchanged shares": exchanged("traffic_share"),
}


def damaged(world: str, days: int, seed: int) -> Dataset:
    """What a strategy out of control leaves behind: the ratio anywhere, both centres overloaded."""
    place = load_world(world)
    minutes = days * DAY_MINUTES + 1
    draws = np.random.default_rng(seed).uniform(0.2, 0.8, minutes // 5 + 1)
    ratio = np.repeat(np.round(draws, 2), 5)[:minutes]
    return simulator.simulate(place, weather.draw(place, minutes, seed), ratio)


def _complete(rows: Dataset) -> Dataset:
    known = np.isfinite(rows.response_time_ms)

    def of(series: CenterSeries) -> CenterSeries:
        columns = {each.name: getattr(series, each.name)[known] for each in fields(series)}
        return CenterSeries(**columns)

    return Dataset(
        time_s=rows.time_s[known],
        primary=of(rows.primary),
        secondary=of(rows.secondary),
        ratio=rows.ratio[known],
        response_time_ms=rows.response_time_ms[known],
    )


def _episodes(minutes: int, seed: int) -> NDArray[np.bool_]:
    """Half an hour or so of slowness, every few hours."""
    draws = np.random.default_rng([seed, 99])
    on = np.zeros(minutes, dtype=np.bool_)
    at = 0
    while at < minutes:
        at += int(draws.integers(60, 240))
        length = int(draws.integers(20, 90))
        on[at : at + length] = True
        at += length
    return on


def _slower(series: CenterSeries, factor: FloatArray) -> CenterSeries:
    return replace(series, response_time_ms=series.response_time_ms * factor)


def _with(series: CenterSeries, other: CenterSeries, names: tuple[str, ...]) -> CenterSeries:
    return replace(series, **{name: getattr(other, name) for name in names})
