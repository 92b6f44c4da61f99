"""The whole backtest: worlds x seeds x contestants, over the cores of the machine.

Called by `python -m training backtest` and by benchmarks.closed_loop. First every history is
learned from, then every world is played; a unit of either is small enough to show progress, and
its result does not depend on which process has it.
"""

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import active_children, get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.errors import Invalid, Retryable
from controlplane.domain.guardrails.limits import EnvelopeLimits
from training.backtest import loop, preparation, reference
from training.backtest.contestant import contestant
from training.backtest.digest import sources_digest
from training.backtest.lane import Lane, lane
from training.backtest.preparation import Schooling
from training.backtest.scores import Score, Summary, score
from training.simulation import truth, weather
from training.simulation.arrivals import DAY_MINUTES
from training.simulation.world import load_world

# Seeds of a unit: few enough that units end often, many enough to share a pass of numpy.
SEEDS_PLAYED, SEEDS_SCHOOLED = 4, 10
# What networks are trained for; without a contestant that asks for one, laws and residual do.
_ASK_THE_NETWORK = frozenset({"paper_mlp", "projected_mlp"})

Tell = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to play.

    Attributes:
        contestants: labels, see backtest.contestant.
        worlds: names or .toml files.
        days: length of each run, whole days; seeds: how many, from `first_seed` on.
        processes: at once; 0 is one per core.
        settings: of the training; "" chooses by the contestants.
    """

    contestants: tuple[str, ...]
    worlds: tuple[str, ...]
    days: int
    seeds: int
    first_seed: int = 0
    processes: int = 0
    settings: str = ""

    @property
    def all_seeds(self) -> tuple[int, ...]:
        """The seeds."""
        return tuple(range(self.first_seed, self.first_seed + self.seeds))

    @property
    def training(self) -> str:
        """Name of the training settings; "" when nobody asks a model."""
        chosen = [contestant(label) for label in self.contestants]
        if not any(one.learned for one in chosen):
            return ""
        asked = any(one.strategy in _ASK_THE_NETWORK for one in chosen)
        return self.settings or ("paper" if asked else "residual")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Match:
    """One unit of play: seeds of a world, everyone at once."""

    world: str
    history: str
    seeds: tuple[int, ...]
    contestants: tuple[str, ...]
    days: int
    folder: Path


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Played:
    """What came of a plan.

    Attributes:
        scores: of each world, references first.
        runs: every run of each world.
        sources_digest: of the code when it began, because hours may pass until it ends.
    """

    scores: tuple[Score, ...]
    runs: dict[str, tuple[Summary, ...]]
    sources_digest: str


def run(plan: Plan, tell: Tell = lambda stage, done, total: None) -> Played:
    """Play a plan.

    Args:
        plan: what.
        tell: told (stage, units done, units in all); stages are `train` and `play`.

    Raises:
        Invalid: none or an unknown world or contestant, or one that plays in any case.
        Retryable: `backtest_process_lost`.
    """
    _check(plan)
    began = sources_digest()
    with TemporaryDirectory(prefix="signalbox-backtest-") as temporary:
        folder = Path(temporary)
        shared = preparation.histories(plan.worlds) if plan.training else {}
        schools = [
            Schooling(world=history, seeds=seeds, settings=plan.training, folder=folder)
            for history in dict.fromkeys(shared.values())
            for seeds in _batches(plan.all_seeds, SEEDS_SCHOOLED)
        ]
        matches = [
            _Match(
                world=name,
                history=shared.get(name, ""),
                seeds=seeds,
                contestants=plan.contestants,
                days=plan.days,
                folder=folder,
            )
            for name in plan.worlds
            for seeds in _batches(plan.all_seeds, SEEDS_PLAYED)
        ]
        where = (plan.processes, folder)
        _each(preparation.school, schools, where, lambda n: tell("train", n, len(schools)))
        played = _each(_play, matches, where, lambda n: tell("play", n, len(matches)))
    runs = {name: _of(name, matches, played) for name in plan.worlds}
    scores = tuple(
        score(load_world(name).name, label, summaries)
        for name, summaries in runs.items()
        for label in (*reference.labels(), *plan.contestants)
    )
    return Played(scores=scores, runs=runs, sources_digest=began)


def _check(plan: Plan) -> None:
    if not (plan.contestants and plan.worlds):
        raise Invalid("option_invalid", "name a strategy and a world at least")
    for label in plan.contestants:
        if contestant(label).label in reference.labels():
            message = f"{label!r} is always there, as a reference: leave it out"
            raise Invalid("contestant_invalid", message)
    names = [load_world(name).name for name in plan.worlds]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        message = f"two worlds are called {', '.join(twice)}: give each file a `name` of its own"
        raise Invalid("option_invalid", message)


def _batches(seeds: Sequence[int], size: int) -> list[tuple[int, ...]]:
    return [tuple(seeds[start : start + size]) for start in range(0, len(seeds), size)]


def _each(
    work: Callable[[Any], Any],
    units: Sequence[Any],
    where: tuple[int, Path],
    tell: Callable[[int], None],
) -> list[Any]:
    """Results in the order of the units; in this process when one is enough.

    Args:
        where: how many processes, 0 is one per core; the folder that all of them use.
    """
    wanted, folder = where
    processes = min(wanted or os.cpu_count() or 1, max(len(units), 1))
    results: dict[int, Any] = {}
    if processes == 1:
        for index, unit in enumerate(units):
            results[index] = work(unit)
            tell(index + 1)
        return [results[index] for index in range(len(units))]
    # Forked processes would inherit the threads of numpy and torch; these start clean.
    with ProcessPoolExecutor(
        processes,
        mp_context=get_context("spawn"),
        initializer=_end_with_parent,
        initargs=(os.getpid(), folder),
    ) as pool:
        try:
            futures = {pool.submit(work, unit): index for index, unit in enumerate(units)}
            # The pool looks for lost processes among those that it had when it was last woken, and
            # it is woken before it starts one more: without this the last one's loss is not seen.
            pool.submit(int)
            for done, future in enumerate(as_completed(futures), 1):
                results[futures[future]] = future.result()
                tell(done)
        except BrokenProcessPool as error:
            message = (
                "a process of the backtest was killed, often for want of memory: "
                f"free some, or use fewer than {processes} --processes"
            )
            raise Retryable("backtest_process_lost", message) from error
        except BaseException:
            # The pool would wait for all that is in hand; nobody waits for its results now.
            for worker in active_children():
                worker.terminate()
            raise
    return [results[index] for index in range(len(units))]


def _end_with_parent(parent: int, folder: Path) -> None:
    """A parent that is killed cannot end its workers and tidy up; they look for it each second."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)

    # Ctrl-C goes to everyone at a terminal; the parent alone answers it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=watch, daemon=True).start()


def _of(
    name: str, matches: Sequence[_Match], played: Sequence[list[Summary]]
) -> tuple[Summary, ...]:
    pairs = zip(matches, played, strict=True)
    return tuple(one for match, summaries in pairs if match.world == name for one in summaries)


def _play(match: _Match) -> list[Summary]:
    """Play one unit; references first."""
    world = load_world(match.world)
    weathers = [weather.draw(world, match.days * DAY_MINUTES, seed) for seed in match.seeds]
    known = [
        one
        for each, seed in zip(weathers, match.seeds, strict=True)
        for one in reference.references(world, each, seed)
    ]
    models = {
        seed: preparation.graduate(match.folder, match.history, seed)
        for seed in match.seeds
        if match.history
    }
    playing: list[tuple[int, Lane]] = []
    for label in match.contestants:
        who = contestant(label)
        for index, seed in enumerate(match.seeds):
            playing.append((index, lane(world, who, models.get(seed), EnvelopeLimits())))
    course = loop.play(world, weathers, playing)
    saturating = [truth.saturating(world, each) for each in weathers]
    return known + [
        _summary(course, at, match.seeds[index], saturating[index])
        for at, (index, _) in enumerate(playing)
    ]


def _summary(course: loop.Course, at: int, seed: int, saturating: NDArray[np.bool_]) -> Summary:
    """What one lane came to."""
    lane_, path = course.lanes[at], course.shares[at]
    moves, variation = reference.moved(path)
    calibration = lane_.state.calibration
    return Summary(
        label=lane_.contestant.label,
        seed=seed,
        daily_cost=reference.daily(course.mean_ms[at] * course.requests_rps[at]),
        daily_requests=reference.daily(course.requests_rps[at]),
        overload_minutes=int(course.overloaded[at].sum()),
        saturated_minutes=int(saturating.sum()),
        saturated_requests=float(course.requests_rps[at][saturating].sum()),
        path=path[:, 0].copy(),
        moves=moves,
        variation=variation,
        violations=course.violations[at],
        own_cycles=int(course.own[at].sum()),
        cycles=course.own.shape[1],
        demotions=int(lane_.state.demotion is not None),
        covered=calibration.judged - calibration.missed,
        judged=calibration.judged,
    )
