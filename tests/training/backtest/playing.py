"""Short runs that the backtest's tests share."""

from collections.abc import Sequence

from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.strategies.situation import LearnedModel
from training.backtest.contestant import contestant
from training.backtest.lane import Lane, lane
from training.backtest.loop import Course, play
from training.simulation import weather
from training.simulation.weather import Weather
from training.simulation.world import World, load_world

W1 = load_world("W1")


def entered(label: str, world: World = W1, model: LearnedModel | None = None) -> Lane:
    """A lane before its first sample."""
    return lane(world, contestant(label), model, EnvelopeLimits())


def lived(
    labels: Sequence[str], minutes: int, world: World = W1, seeds: Sequence[int] = (0,)
) -> Course:
    """Everyone in every weather."""
    weathers = [weather.draw(world, minutes, seed) for seed in seeds]
    return through(labels, world, weathers)


def through(labels: Sequence[str], world: World, weathers: Sequence[Weather]) -> Course:
    """Everyone in each of these weathers."""
    lanes = [(at, entered(label, world)) for label in labels for at in range(len(weathers))]
    return play(world, weathers, lanes)
