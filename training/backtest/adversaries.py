"""Models that are wrong on purpose, and what they cost before they are found out.

Each lives through a day in a world, behind the envelope, beside the rules in the same weather.
Called by benchmarks.closed_loop and by the acceptance test. "Model" is what the strategy asks: the
network of `paper_mlp` and `projected_mlp`, the laws of `hybrid`. An inverted one says 2 m - y,
with y the truth and m the truth at `MIDDLE` utilization: right in the middle, wrong in each
comparison.
"""

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.features import FEATURE_NAMES
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.queue_law import CenterLaw, response_time_ms, utilization
from controlplane.domain.strategies.situation import LearnedModel, Network
from training.backtest.contestant import contestant
from training.backtest.lane import lane
from training.backtest.loop import Course, play
from training.simulation import weather
from training.simulation.arrivals import DAY_MINUTES
from training.simulation.world import World, load_world

FloatArray = NDArray[np.float64]

# Those that a bad model must not fall behind, and the one that decides once it is demoted.
RULES = (StrategyName.CPU_EQUALIZER, StrategyName.STATIC)
FALLBACK = StrategyName.OBSERVED_LAWS
ASKING = (StrategyName.PAPER_MLP, StrategyName.PROJECTED_MLP, StrategyName.HYBRID)
# What a model of these sites usually is off by on rows that it was not trained on.
SPREAD = 0.05
MIDDLE = 0.6
CONSTANT_MS = 80.0
# Between these a random one says anything.
LEAST_MS, MOST_MS = 20.0, 200.0
_RATIO = FEATURE_NAMES.index("primary.scheduling_ratio")
_CPU = tuple(FEATURE_NAMES.index(f"{center}.cpu_avg") for center in ("primary", "secondary"))


class Kind(StrEnum):
    """In which way a model is wrong."""

    NAN = "nan"
    CONSTANT = "constant"
    INVERTED = "inverted"
    RANDOM = "random"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordeal:
    """A day with one bad model.

    Attributes:
        mean_ms: of the day; rules_ms: by each of `RULES`; fallback_ms: by `FALLBACK` all day.
        demoted_after: cycles until the model lost its service; None when it kept it.
        overload_minutes: minutes in which a centre was above 97 % with the model, and by none of
            the rules.
        violations: promises of the envelope that were not kept.
    """

    world: str
    seed: int
    strategy: StrategyName
    kind: Kind
    mean_ms: float
    rules_ms: tuple[float, ...]
    fallback_ms: float
    demoted_after: int | None
    reason: str
    overload_minutes: int
    violations: tuple[str, ...]

    @property
    def case(self) -> tuple[str, StrategyName, Kind]:
        """What it is a seed of."""
        return self.world, self.strategy, self.kind


def ordeals(
    name: str, seeds: Sequence[int], limits: EnvelopeLimits | None = None
) -> tuple[Ordeal, ...]:
    """A day with every kind of bad model, for every strategy that asks one, in one world.

    Args:
        name: a world of two centers.
        seeds: of its weather.
    """
    world, limits = load_world(name), limits or EnvelopeLimits()
    weathers = [weather.draw(world, DAY_MINUTES, seed) for seed in seeds]
    cases = [(strategy, kind) for strategy in ASKING for kind in Kind]
    by_rule = [
        (at, lane(world, contestant(rule), None, limits))
        for at in range(len(seeds))
        for rule in (*RULES, FALLBACK)
    ]
    tried = [
        (at, lane(world, contestant(strategy), bad_model(world, kind, at), limits))
        for at in range(len(seeds))
        for strategy, kind in cases
    ]
    lost: dict[int, int] = {}

    def after(cycle: int) -> None:
        for number, (at, one) in enumerate(tried):
            if one.state.demotion is not None:
                lost.setdefault(number, cycle)
            elif cases[number % len(cases)][1] is Kind.RANDOM:
                one.model = bad_model(world, Kind.RANDOM, at + len(seeds) * cycle)

    course = play(world, weathers, [*by_rule, *tried], after)
    days = _Days(course=course, world=world.name, seeds=tuple(seeds))
    return tuple(
        days.ordeal(at, cases[number % len(cases)], len(by_rule) + number, lost.get(number))
        for number, (at, _) in enumerate(tried)
    )


def vs_rule_pct(days: Iterable[Ordeal]) -> dict[tuple[str, StrategyName, Kind], float]:
    """How much slower the days were than by the rule that is better in that world, over all seeds.

    Returns:
        per cent for each world, strategy and kind; below 0 is faster.
    """
    found: dict[tuple[str, StrategyName, Kind], list[Ordeal]] = {}
    for day in days:
        found.setdefault(day.case, []).append(day)
    return {
        case: 100.0
        * (
            sum(day.mean_ms for day in ones)
            / min(sum(by_rule) for by_rule in zip(*(day.rules_ms for day in ones), strict=True))
            - 1.0
        )
        for case, ones in found.items()
    }


def bad_model(world: World, kind: Kind, draw: int) -> LearnedModel:
    """A model of one kind for every strategy; `draw`: which of the random ones."""
    laws = tuple(
        _bad_law(center.law, kind, draw + 7 * at) for at, center in enumerate(world.centers)
    )
    return LearnedModel(
        digest=f"bad-{kind}", network=_network(laws, kind), laws=laws, residual_spread=SPREAD
    )


def _bad_law(law: CenterLaw, kind: Kind, draw: int) -> CenterLaw:
    if kind is Kind.NAN:
        return replace(law, base_ms=np.nan)
    if kind is Kind.CONSTANT:
        return replace(law, base_ms=CONSTANT_MS, contention=0.0, wait_ms=0.0)
    if kind is Kind.INVERTED:
        base_ms = 2.0 * float(response_time_ms(law, MIDDLE)) - law.base_ms
        contention = -law.base_ms * law.contention / base_ms
        return replace(law, base_ms=base_ms, contention=contention, wait_ms=-law.wait_ms)
    draws = np.random.default_rng([1, draw])
    return replace(
        law,
        base_ms=float(draws.uniform(LEAST_MS, MOST_MS)),
        contention=float(draws.uniform(0.0, 1.0)),
        wait_ms=float(draws.uniform(0.0, LEAST_MS)),
    )


def _network(laws: Sequence[CenterLaw], kind: Kind) -> Network:
    """(n, 14) -> (n,): what the laws say at the CPU of each row; a random one says anything."""

    def answer(x: FloatArray) -> FloatArray:
        if kind is Kind.RANDOM:
            draws = np.random.default_rng(zlib.crc32(np.ascontiguousarray(x).tobytes()))
            return draws.uniform(LEAST_MS, MOST_MS, len(x))
        first, second = (
            response_time_ms(law, utilization(law, x[:, column]))
            for law, column in zip(laws, _CPU, strict=True)
        )
        return np.asarray(x[:, _RATIO] * first + (1.0 - x[:, _RATIO]) * second)

    return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class _Days:
    """A course whose first lanes are the rules of each seed."""

    course: Course
    world: str
    seeds: tuple[int, ...]

    def ordeal(
        self, at: int, case: tuple[StrategyName, Kind], number: int, lost: int | None
    ) -> Ordeal:
        course, rules = self.course, len(RULES) + 1
        beside = range(rules * at, rules * (at + 1))
        *rules_ms, fallback_ms = (self._mean_ms(one) for one in beside)
        ruled = course.overloaded[rules * at : rules * (at + 1)].any(axis=0)
        demotion = course.lanes[number].state.demotion
        return Ordeal(
            world=self.world,
            seed=self.seeds[at],
            strategy=case[0],
            kind=case[1],
            mean_ms=self._mean_ms(number),
            rules_ms=tuple(rules_ms),
            fallback_ms=fallback_ms,
            demoted_after=lost,
            reason="" if demotion is None else demotion.reason,
            overload_minutes=int((course.overloaded[number] & ~ruled).sum()),
            violations=course.violations[number],
        )

    def _mean_ms(self, number: int) -> float:
        """Over the requests of the day."""
        requests = self.course.requests_rps[number]
        return float((self.course.mean_ms[number] * requests).sum() / requests.sum())
