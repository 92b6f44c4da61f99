"""Worlds and runs that the simulator's tests share."""

import numpy as np
from numpy.typing import NDArray

from training.simulation import site
from training.simulation.site import Played, SiteState
from training.simulation.weather import Weather
from training.simulation.world import World

FloatArray = NDArray[np.float64]


def played(
    world: World, weathers: list[Weather], shares: FloatArray, stretch: int
) -> tuple[list[Played], SiteState]:
    """Play one lane per weather, `stretch` minutes at a time, under shares (lanes, centers, n)."""
    lanes = site.gather(world, weathers)
    state, parts = site.start(lanes), []
    for begin in range(0, lanes.minutes, stretch):
        minutes = slice(begin, min(begin + stretch, lanes.minutes))
        part, state = site.play(lanes, state, minutes, shares[..., minutes])
        parts.append(part)
    return parts, state


def wandering(weather: Weather, seed: int, centers: int = 2) -> FloatArray:
    """Shares (centers, n) that move every five minutes."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(centers, 20.0), -(-weather.minutes // 5)).T
    return np.repeat(shares, 5, axis=1)[:, : weather.minutes]
