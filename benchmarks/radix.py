"""How long the tree takes to find the rule of a path, beside other routers and expressions.

808 rules of 6 to 8 segments, 30 % with parameters, paths of 150 characters, no path twice as the
same string. Rules of whole paths stand beside Python's routers, prefixes beside marisa-trie, both
beside regular expressions. Times are processor time, which other work on the machine hardly
changes. `python -m benchmarks.radix [--quick] [--json]`
"""

import gc
import random
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from benchmarks import command, radix_rivals
from benchmarks.radix_rivals import Contestant, Rules
from benchmarks.radix_rules import Shape, Work, fresh, routes_of, ten_thousand, work
from controlplane.domain.routing.matching.normalization import normalized
from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.matching.table import Table
from controlplane.domain.routing.route import Route

SEED = 2026
EXPRESSIONS = (radix_rivals.expressions, radix_rivals.alternation)
WHOLE_PATHS = (
    radix_rivals.ours_with_parameters,
    radix_rivals.falcon_router,
    radix_rivals.sanic_router,
    radix_rivals.werkzeug_map,
    *EXPRESSIONS,
)
PREFIXES = (radix_rivals.ours, radix_rivals.marisa, *EXPRESSIONS)
PYTHON_ROUTERS = ("falcon", "sanic", "werkzeug")

# Name behind each figure -> what rules of whole paths, and prefixes, are like.
SHAPES = {
    "": (
        Shape(whole=True, segments=(6, 8), letters=20),
        Shape(whole=False, segments=(6, 8), letters=7),
    ),
    "_12_segments": (
        Shape(whole=True, segments=(12, 12), letters=11),
        Shape(whole=False, segments=(12, 12), letters=7),
    ),
    "_20_segments": (
        Shape(whole=True, segments=(20, 20), letters=6),
        Shape(whole=False, segments=(20, 20), letters=5),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much is measured: turns of each contestant with 808 paths, repetitions of a build."""

    turns: int
    builds: int


QUICK = Effort(turns=5, builds=5)
FULL = Effort(turns=25, builds=25)


def main() -> None:
    """Measure, check that all find the same, print."""
    options = command.options(__doc__, quick="fewer turns")
    effort = QUICK if options.quick else FULL
    figures: dict[str, float] = {}
    for suffix, shapes in SHAPES.items():
        found = match_figures(*shapes, effort)
        show(suffix, found)
        figures |= {f"{name}{suffix}": value for name, value in found.items()}
    changes = change_figures(effort)
    show("_changes", changes)
    figures |= changes
    command.end(options, "radix", figures)


def match_figures(templates: Shape, prefixes: Shape, effort: Effort) -> dict[str, float]:
    """Microseconds per path of everyone, and how ours stands beside them."""
    rng = random.Random(SEED)
    whole = work(templates, effort.turns, rng)
    going_on = work(prefixes, effort.turns, rng)
    exact = _measured(whole, WHOLE_PATHS)
    longest = _measured(going_on, PREFIXES)
    figures = {
        "us_per_match": longest["ours"],
        "ratio_vs_best_python": exact["ours"] / min(exact[name] for name in PYTHON_ROUTERS),
        "ratio_vs_marisa": longest["ours"] / longest["marisa"],
        "speedup_vs_regex_list": longest["regex_list"] / longest["ours"],
        "speedup_vs_alternation": longest["alternation"] / longest["ours"],
        "speedup_vs_regex_list_whole_paths": exact["regex_list"] / exact["ours"],
        "url_characters_whole_paths": statistics.fmean(map(len, whole.turns[0])),
        "url_characters_prefixes": statistics.fmean(map(len, going_on.turns[0])),
    }
    figures |= {f"us_per_match_whole_paths_{name}": each for name, each in exact.items()}
    figures |= {f"us_per_match_prefixes_{name}": each for name, each in longest.items()}
    return figures | _beside(whole, going_on)


def change_figures(effort: Effort) -> dict[str, float]:
    """Milliseconds that a table of 10,000 routes and one change in it take."""
    rng = random.Random(SEED)
    routes = ten_thousand(rng)
    builds: list[float] = []
    for _ in range(effort.builds):
        gc.collect()
        start = time.thread_time()
        table = Table.of(routes)
        builds.append(time.thread_time() - start)
    changes: list[float] = []
    for route in rng.sample(routes, 200):
        new = Route(id="new", service="s", path=route.path, priority=1)
        changes += _change(table, route, new)
    return {
        "build_10k_ms": statistics.median(builds) * 1e3,
        "update_ms": statistics.median(changes) * 1e3,
        "update_ms_highest": max(changes) * 1e3,
    }


def show(title: str, figures: dict[str, float]) -> None:
    """Print a table of figures."""
    print(title.strip("_").replace("_", " ") or "6 to 8 segments")
    for name, value in figures.items():
        print(f"  {name:<44}{value:>10.3f}")


def _beside(whole: Work, prefixes: Work) -> dict[str, float]:
    """What a path costs that nothing matches, its normal form, and a request from end to end."""
    table = Table.of(routes_of(whole.rules))

    def answer(path: str) -> object:
        return table.match(Request(path=path), 0.0)

    find = radix_rivals.ours(prefixes.rules).find
    return {
        "us_per_miss": statistics.median(_turn(find, urls) for urls in prefixes.misses),
        "us_per_normal_form": statistics.median(_turn(normalized, urls) for urls in whole.turns),
        "us_per_request": statistics.median(_turn(answer, urls) for urls in whole.turns),
    }


def _measured(given: Work, makers: Sequence[Callable[[Rules], Contestant]]) -> dict[str, float]:
    """Name -> median microseconds per path; the contestants take turns on the same paths."""
    contestants = [make(given.rules) for make in makers]
    for contestant in contestants:
        _check(contestant, given)
    times: dict[str, list[float]] = {contestant.name: [] for contestant in contestants}
    for urls in given.turns:
        for contestant in contestants:
            times[contestant.name].append(_turn(contestant.find, urls))
    return {name: statistics.median(kept) for name, kept in times.items()}


def _check(contestant: Contestant, given: Work) -> None:
    """Everyone finds the rule of each path, as far as he tells."""
    for url, number in given.turns[0].items():
        found = contestant.find(url)
        answer = contestant.answers(found)
        if not found or answer not in {None, number}:
            raise SystemExit(f"{contestant.name} finds {answer} for {url}, not {number}")


def _turn(find: Callable[[str], object], urls: Iterable[str]) -> float:
    """Microseconds of processor time per path."""
    paths = fresh(urls)
    gc.collect()
    gc.disable()
    start = time.thread_time()
    for path in paths:
        find(path)
    spent = time.thread_time() - start
    gc.enable()
    return spent / len(paths) * 1e6


def _change(table: Table, old: Route, new: Route) -> list[float]:
    """Seconds of taking a route out, and of putting another one in."""
    start = time.thread_time()
    without = table.without_route(old)
    between = time.thread_time()
    changed = without.with_route(new)
    end = time.thread_time()
    if changed.without_route(new).with_route(old) != table:
        raise SystemExit("a change back gave another table")
    return [between - start, end - between]


if __name__ == "__main__":
    main()
