"""A world: everything that a simulated group of data centres is, before chance has its say.

Read from data/worlds/NAME.toml by name or from a file of one's own; simulation.weather draws
chance over it. Holds no state and draws nothing. What every number does: docs/simulator.md.
"""

import dataclasses
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from controlplane.domain.errors import Invalid
from training.simulation.center import CenterWorld

Table = TypeVar("Table")


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

    start_time_s: int
    peak_rps: float
    night_share: float
    weekend_factor: float
    release_hours: tuple[float, ...]
    release_height: float
    release_decay_minutes: float
    holiday_first_day: int
    holiday_days: int
    holiday_factor: float
    noise: float
    trace: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """The historical strategy: shares from experience, nudged a little every few minutes.

    Attributes:
        shares: one per center, they sum to 1; share_sd: spread of all but the last, which takes
            the rest; hold_minutes: how long shares stay.
    """

    shares: tuple[float, ...]
    share_sd: float
    hold_minutes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """A center loses a part of its machines around the peak.

    Attributes:
        days_between: a day from day 0 on has a loss with probability 1 / days_between.
        first_hour, last_hour: the loss begins between these hours of the day.
        shortest_minutes, longest_minutes: how long it lasts.
        least_left, most_left: share of the capacity that is left, 0..1.
    """

    days_between: float
    first_hour: float
    last_hour: float
    shortest_minutes: int
    longest_minutes: int
    least_left: float
    most_left: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """Monitoring fails, center by center, in episodes from day 0 on.

    Attributes:
        late_per_day, stuck_per_day, missing_per_day, gap_per_day: episodes per day and center in
            which samples come late, readings stand still, one reading is missing (NaN), or no
            sample comes at all.
        mean_minutes: length of an episode, exponential; late_minutes: how late samples come.
    """

    late_per_day: float
    stuck_per_day: float
    missing_per_day: float
    gap_per_day: float
    mean_minutes: float
    late_minutes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Users:
    """A closed loop: users wait for the answer and think `think_ms` before they ask again.

    There are arrival_rps * think_ms / 1000 of them, so `Arrivals` says what they would ask of a
    site that answers at once.
    """

    think_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Two or more centers, who comes, who split the traffic so far, and what goes wrong.

    `response_noise` is the relative noise of one minute's mean response time.
    """

    name: str
    response_noise: float
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
        Invalid: no such world, or a field is missing, unknown or of the wrong type.
    """
    try:
        return _world(_content(name))
    except OSError as error:
        known = ", ".join(world_names())
        message = f"no world {name!r}: give one of {known}, or the path of a .toml file"
        raise Invalid("world_unknown", message) from error
    except (TypeError, KeyError, tomllib.TOMLDecodeError) as error:
        raise Invalid("world_invalid", f"world {name!r}: {error}") from error


def _content(name: str) -> dict[str, Any]:
    """The tables of a world's file, over those of the world that it is `like`."""
    path = Path(name)
    if path.suffix == ".toml":
        text = path.read_text(encoding="utf-8")
    else:
        text = files("data").joinpath("worlds", f"{name.lower()}.toml").read_text("utf-8")
    content = tomllib.loads(text)
    like = content.pop("like", None)
    return content if like is None else _merged(_content(str(like)), content)


def _merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Tables are merged, centers one by one in their order; anything else is replaced."""
    merged = old | new
    for key in old.keys() & new.keys():
        if isinstance(old[key], dict):
            merged[key] = _merged(old[key], new[key])
        elif key == "centers":
            pairs = zip(old[key], new[key], strict=False)
            known = [_merged(before, after) for before, after in pairs]
            merged[key] = known + old[key][len(known) :] + new[key][len(known) :]
    return merged


def _world(content: dict[str, Any]) -> World:
    _check_keys("world", World, content)
    centers = tuple(_table(CenterWorld, center) for center in content["centers"])
    operator = _table(Operator, content["operator"])
    if len(centers) < 2 or len(operator.shares) != len(centers):
        raise TypeError("give two [[centers]] or more, and one operator share for each")
    if "users" in content and any(center.cold_cost > 0 for center in centers):
        raise TypeError("users in a closed loop and cold caches together are not computed")
    return World(
        name=content["name"],
        response_noise=float(content["response_noise"]),
        arrivals=_table(Arrivals, content["arrivals"]),
        operator=operator,
        centers=centers,
        users=_optional(Users, content.get("users")),
        losses=_optional(Losses, content.get("losses")),
        faults=_optional(Faults, content.get("faults")),
    )


def _optional(kind: type[Table], content: dict[str, Any] | None) -> Table | None:
    return None if content is None else _table(kind, content)


def _table(kind: type[Table], content: dict[str, Any]) -> Table:
    _check_keys(kind.__name__, kind, content)
    values = {
        key: tuple(value) if isinstance(value, list) else value for key, value in content.items()
    }
    return kind(**values)


def _check_keys(where: str, kind: type[Any], content: dict[str, Any]) -> None:
    fields = dataclasses.fields(kind)
    known = {field.name for field in fields}
    needed = {field.name for field in fields if field.default is dataclasses.MISSING}
    missing, unknown = sorted(needed - set(content)), sorted(set(content) - known)
    if missing or unknown:
        raise TypeError(f"{where}: missing {missing}, unknown {unknown}")
