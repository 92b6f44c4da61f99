"""A whole run of two data centres under a given ratio, or of more under shares, as a data set.

Called by `signalbox simulate` and by tests; simulation.site does the work.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from training.dataset import CenterSeries, Dataset
from training.simulation import site
from training.simulation.site import Played, Readings
from training.simulation.troubles import READINGS
from training.simulation.weather import Weather
from training.simulation.world import World
from training.site_dataset import SiteDataset

FloatArray = NDArray[np.float64]


def simulate(world: World, weather: Weather, ratio: FloatArray) -> Dataset:
    """Run both centres under `ratio` (n,) and write down what monitoring would have seen.

    Samples that never come are missing; late ones are there, as logs are read long after.

    Returns:
        n - 1 rows: the metrics of minute t, the ratio and the mean response time of minute t+1.
    """
    seen = play_ratio(world, weather, ratio).seen
    never = np.isinf(seen.arrives_minute[0])
    primary, secondary = (_series(seen, never, center) for center in range(2))
    total_rps = primary.request_rate_rps + secondary.request_rate_rps
    with np.errstate(invalid="ignore", divide="ignore"):
        share = primary.request_rate_rps / total_rps
        mean_ms = share * primary.response_time_ms + (1.0 - share) * secondary.response_time_ms
    return Dataset(
        time_s=weather.time_s[:-1],
        primary=_rows(primary, share),
        secondary=_rows(secondary, 1.0 - share),
        ratio=ratio[1:],
        response_time_ms=mean_ms[1:],
    )


def simulate_site(world: World, weather: Weather, shares: FloatArray) -> SiteDataset:
    """As `simulate`, of any number of centers under `shares` (centers, n), with their names.

    Centers of a world have no names: they are center-1, center-2 and so on.
    """
    seen = play_shares(world, weather, shares).seen
    never = np.isinf(seen.arrives_minute[0])
    series = [_series(seen, never, center) for center in range(len(world.centers))]
    rates = np.stack([one.request_rate_rps for one in series])
    times = np.stack([one.response_time_ms for one in series])
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = rates / rates.sum(axis=0)
        mean_ms = (observed * times).sum(axis=0)
    known = np.isfinite(mean_ms[1:])
    rows = [_rows(one, share) for one, share in zip(series, observed, strict=True)]
    return SiteDataset(
        centers=tuple(f"center-{number}" for number in range(1, len(series) + 1)),
        time_s=weather.time_s[:-1][known],
        series=tuple(one.at(known) for one in rows),
        shares=shares[:, 1:][:, known],
        response_time_ms=mean_ms[1:][known],
    )


def play_ratio(world: World, weather: Weather, ratio: FloatArray) -> Played:
    """Play the whole run in one lane under `ratio` (n,) of the primary."""
    shares = np.stack([ratio, 1.0 - ratio])
    return play_shares(world, weather, shares)


def play_shares(world: World, weather: Weather, shares: FloatArray) -> Played:
    """Play the whole run in one lane under `shares` (centers, n)."""
    lanes = site.gather(world, [weather])
    played, _ = site.play(lanes, site.start(lanes), slice(0, weather.minutes), shares[None])
    return played


def _series(seen: Readings, never: NDArray[np.bool_], center: int) -> CenterSeries:
    def column(values: FloatArray) -> FloatArray:
        return np.where(never[center], np.nan, values[0, center])

    return CenterSeries(
        **{name: column(getattr(seen, name)) for name in READINGS},
        traffic_share=np.full(never.shape[1], np.nan),
    )


def _rows(series: CenterSeries, share: FloatArray) -> CenterSeries:
    return replace(series, traffic_share=share).at(slice(0, -1))
