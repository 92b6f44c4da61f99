"""A world: everything that a simulated group of data centres is, before chance has its say.

Read from data/worlds/NAME.toml by name or from a file of one's own; simulation.weather draws
chance over it. Holds no state and draws nothing. What every number does: docs/simulator.md.
"""

import math
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from controlplane.domain.errors import Invalid
from training.simulation.center import CHECKED, Amount, CenterWorld, Hour, Positive, Share

# Worlds of which each is like the next end here, so that a ring ends too.
_MOST_LIKE = 8
Minutes = Annotated[int, Field(ge=1, le=1_000_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """How many requests come.

    Attributes:
        start_time_s: UTC epoch seconds of the first minute of day 0.
        peak_rps: height of the daily profile, or the 99.5 % quantile of the trace.
        night_share: the night's part of the profile.
        weekend_factor, holiday_factor: of the whole day; noise: relative, remembers minutes.
        release_hours: hours of the day when tickets are released; release_height: extra arrivals
            as a share of the peak; release_decay_minutes: how long the crowd stays.
        holiday_first_day, holiday_days: from day 0 of the run; logs from before it have none.
        trace: file in data/traces that replaces the profile; "" for none.
    """

    __pydantic_config__ = CHECKED

    start_time_s: Annotated[int, Field(ge=0, le=4_102_444_800)]
    peak_rps: Positive
    night_share: Amount
    weekend_factor: Amount
    release_hours: tuple[Hour, ...]
    release_height: Amount
    release_decay_minutes: Positive
    holiday_first_day: int
    holiday_days: Annotated[int, Field(ge=0)]
    holiday_factor: Amount
    noise: Amount
    trace: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """The historical strategy: shares from experience, nudged a little every few minutes.

    Attributes:
        shares: one per center, they sum to 1; share_sd: spread of all but the last, which takes
            the rest; hold_minutes: how long shares stay.
    """

    __pydantic_config__ = CHECKED

    shares: tuple[Share, ...]
    share_sd: Share
    hold_minutes: Minutes


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """A center loses a part of its machines around the peak.

    Attributes:
        days_between: a day from day 0 on has a loss with probability 1 / days_between.
        first_hour, last_hour: the loss begins between these hours of the day.
        shortest_minutes, longest_minutes: how long it lasts.
        least_left, most_left: share of the capacity that is left, 0..1.
    """

    __pydantic_config__ = CHECKED

    days_between: Positive
    first_hour: Hour
    last_hour: Hour
    shortest_minutes: Minutes
    longest_minutes: Minutes
    least_left: Share
    most_left: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """Monitoring fails, center by center, in episodes from day 0 on.

    Attributes:
        late_per_day, stuck_per_day, missing_per_day, gap_per_day: episodes per day and center in
            which samples come late, readings stand still, one reading is missing (NaN), or no
            sample comes at all.
        mean_minutes: length of an episode, exponential; late_minutes: how late samples come.
    """

    __pydantic_config__ = CHECKED

    late_per_day: Amount
    stuck_per_day: Amount
    missing_per_day: Amount
    gap_per_day: Amount
    mean_minutes: Positive
    late_minutes: Annotated[int, Field(ge=0, le=1_000_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Users:
    """A closed loop: users wait for the answer and think `think_ms` before they ask again.

    There are arrival_rps * think_ms / 1000 of them, so `Arrivals` says what they would ask of a
    site that answers at once.
    """

    __pydantic_config__ = CHECKED

    think_ms: Amount


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Two or more centers, who comes, who split the traffic so far, and what goes wrong.

    `response_noise` is the relative noise of one minute's mean response time.
    """

    __pydantic_config__ = CHECKED

    name: str
    response_noise: Amount
    arrivals: Arrivals
    operator: Operator
    centers: tuple[CenterWorld, ...]
    users: Users | None = None
    losses: Losses | None = None
    faults: Faults | None = None

    @property
    def primary(self) -> CenterWorld:
        """The first center."""
        return self.centers[0]

    @property
    def secondary(self) -> CenterWorld:
        """The second center."""
        return self.centers[1]


def world_names() -> tuple[str, ...]:
    """The worlds that come with the program, in order of name."""
    folder = files("data").joinpath("worlds")
    return tuple(
        sorted(
            entry.name.removesuffix(".toml").capitalize()
            for entry in folder.iterdir()
            if entry.name.endswith(".toml")
        )
    )


def load_world(name: str) -> World:
    """Read a world by its name ("W1") or from a .toml file.

    Raises:
        Invalid: `world_unknown`; `world_invalid`: no TOML, or every field that is missing,
            unknown, of the wrong type or beyond its range.
    """
    try:
        world = _WORLD.validate_python(_content(name))
        _check(world)
    except ValidationError as error:
        words = "; ".join(_words(one["loc"], one["msg"]) for one in error.errors())
        raise Invalid("world_invalid", f"world {name!r}: {words}") from error
    except (ValueError, RecursionError) as error:
        raise Invalid("world_invalid", f"world {name!r}: {error}") from error
    return world


def _words(place: tuple[int | str, ...], problem: str) -> str:
    """Centers count from 1, as everywhere."""
    path = " ".join(str(part + 1) if isinstance(part, int) else part for part in place)
    return f"{path}: {problem[:1].lower()}{problem[1:]}"


def _content(name: str, depth: int = 0) -> dict[str, Any]:
    """The tables of a world's file, over those of the world that it is `like`."""
    content = tomllib.loads(_text(name))
    like = content.pop("like", None)
    if like is None:
        return content
    if depth == _MOST_LIKE:
        raise ValueError(f"more than {_MOST_LIKE} files are like one another: is it a ring?")
    return _merged(_content(str(like), depth + 1), content)


def _text(name: str) -> str:
    try:
        path = Path(name)
        if path.suffix == ".toml":
            return path.read_text(encoding="utf-8")
        return files("data").joinpath("worlds", f"{name.lower()}.toml").read_text("utf-8")
    except OSError as error:
        known = ", ".join(world_names())
        message = f"no world {name!r:.200}: give one of {known}, or the path of a .toml file"
        raise Invalid("world_unknown", message) from error


def _merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Tables are merged, centers one by one in their order; anything else is replaced."""
    merged = old | new
    for key in old.keys() & new.keys():
        before, after = old[key], new[key]
        if isinstance(before, dict) and isinstance(after, dict):
            merged[key] = _merged(before, after)
        elif key == "centers" and all(isinstance(each, list) for each in (before, after)):
            merged[key] = _centers(before, after)
    return merged


def _centers(old: list[Any], new: list[Any]) -> list[Any]:
    known = [
        _merged(before, after) if isinstance(after, dict) else after
        for before, after in zip(old, new, strict=False)
    ]
    return known + old[len(known) :] + new[len(known) :]


def _check(world: World) -> None:
    """What one field alone does not show."""
    if len(world.centers) < 2 or len(world.operator.shares) != len(world.centers):
        raise ValueError("give two [[centers]] or more, and one operator share for each")
    if not math.isclose(sum(world.operator.shares), 1.0, abs_tol=1e-6):
        raise ValueError(f"the operator's shares sum to {sum(world.operator.shares):g}, not to 1")
    if any(center.idle_cpu >= center.full_cpu for center in world.centers):
        raise ValueError("idle_cpu must be below full_cpu in each center")
    losses = world.losses
    if losses and not (
        losses.shortest_minutes <= losses.longest_minutes and losses.least_left <= losses.most_left
    ):
        raise ValueError("losses: the shortest above the longest, or the least above the most")
    if world.users and any(center.cold_cost > 0 for center in world.centers):
        raise ValueError("users in a closed loop and cold caches together are not computed")


_WORLD = TypeAdapter(World)
