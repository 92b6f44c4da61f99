"""Our compiled route table against regular expressions one by one, on the real planes.

808 rules of 6 to 8 segments, 20,000 distinct URLs of 150 characters that hit them evenly, Envoy,
nginx and HAProxy with one worker each, wrk with one thread. The rules are prefixes, and in a second
mix 30 % are templates with parameters. The forms of a plane take turns, because a shared machine is
not always as fast. `python -m benchmarks.route_tables [--quick] [--turns N] [--json]`
"""

import contextlib
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import command
from benchmarks.route_tables_planes import FORMS, Form, Running, running
from benchmarks.route_tables_rules import Rules, drawn
from benchmarks.wrk import Load, Wrk, prepared

SEED = 2026
URLS = 20_000
CONNECTIONS = (64, 2_000)
# The paper's response time with its tree, below that with expressions.
PAPER_REDUCTION_PCT = 28.2
RATIOS = {"envoy": "tree_vs_regex", "nginx": "prefix_vs_regex", "haproxy": "map_vs_regex"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """Which rules; `mark` stands in the names of its figures."""

    mark: str
    with_parameters: float


# What the paper's table and most tables are made of, and what is harder.
PREFIXES = Mix(mark="", with_parameters=0.0)
TEMPLATES = Mix(mark="_templates", with_parameters=0.3)

Key = tuple[str, str, str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much is measured: turns of each mix, and seconds of each number of connections.

    No seconds leave that number out.
    """

    turns: Mapping[Mix, int]
    seconds: tuple[int, int]


# The full run loads each form for five minutes, and with templates for one and a half. With 2,000
# requests on their way the first answers take seconds.
FULL = Effort(turns={PREFIXES: 10, TEMPLATES: 3}, seconds=(10, 20))
QUICK = Effort(turns={PREFIXES: 1}, seconds=(1, 3))


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One run: what the client saw, and processor time of the plane and of the client."""

    load: Load
    busy_s: float
    client_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """Another way that a plane may find a rule; `mark` stands in the names of its ratios."""

    plane: str
    way: str
    mark: str = ""


RIVALS = (
    Rival(plane="envoy", way="expressions"),
    Rival(plane="envoy", way="anchored_expressions", mark="_anchored"),
    Rival(plane="nginx", way="expressions"),
    Rival(plane="haproxy", way="expressions"),
    Rival(plane="haproxy", way="cached_expressions", mark="_cached"),
)


def main() -> None:
    """Measure, print."""
    parser = command.parser(__doc__, quick="one turn of seconds, prefixes only")
    parser.add_argument("--turns", type=int, help="turns of each form, a third with templates")
    options = parser.parse_args()
    effort = QUICK if options.quick else FULL
    if options.turns:
        turns = {PREFIXES: options.turns, TEMPLATES: max(1, options.turns // 3)}
        effort = Effort(turns=turns, seconds=effort.seconds)
    loads: dict[Key, list[Seen]] = {}
    figures: dict[str, float] = {"urls": URLS, "paper_rt_reduction_pct": PAPER_REDUCTION_PCT}
    for mix, number in effort.turns.items():
        found = measured(mix, number, effort.seconds)
        loads |= found
        figures |= computed(mix, found)
    show(loads, figures, list(effort.turns))
    command.end(options, "route_tables", figures)


def measured(mix: Mix, turns: int, seconds: tuple[int, int]) -> dict[Key, list[Seen]]:
    """Every run of each plane, way and number of connections."""
    rules = drawn(URLS, SEED, mix.with_parameters)
    found: dict[Key, list[Seen]] = {}
    with tempfile.TemporaryDirectory(prefix="signalbox-tables-") as name:
        wrk = prepared(Path(name), rules.urls)
        for plane in RATIOS:
            forms = [form for form in FORMS if form.plane == plane]
            with _running(forms, rules, Path(name)) as planes:
                for form, at, seen in _turns(planes, wrk, turns, seconds):
                    key = (mix.mark, form.plane, form.way.replace(" ", "_"), at)
                    found.setdefault(key, []).append(seen)
    failed = {key: sum(one.load.failed for one in runs) for key, runs in found.items()}
    if any(failed.values()):
        raise SystemExit(f"requests failed: {failed}")
    return found


@contextlib.contextmanager
def _running(
    forms: Sequence[Form], rules: Rules, folder: Path
) -> Iterator[list[tuple[Form, Running]]]:
    with contextlib.ExitStack() as stack:
        yield [
            (form, stack.enter_context(running(form, rules, folder / f"{form.plane}-{form.way}")))
            for form in forms
        ]


def _turns(
    planes: Sequence[tuple[Form, Running]], wrk: Wrk, turns: int, seconds: tuple[int, int]
) -> Iterator[tuple[Form, int, Seen]]:
    for _ in range(turns):
        for at, length in zip(CONNECTIONS, seconds, strict=True):
            for form, plane in planes if length else ():
                yield form, at, _seen(plane, wrk, at, length)


def _seen(plane: Running, wrk: Wrk, at: int, seconds: int) -> Seen:
    busy_s, client_s = plane.busy_s(), _children_s()
    load = wrk.run(plane.port, at, seconds)
    return Seen(load=load, busy_s=plane.busy_s() - busy_s, client_s=_children_s() - client_s)


def _children_s() -> float:
    """Processor time of the children that have ended: between two runs that is wrk."""
    times = os.times()
    return times.children_user + times.children_system


def computed(mix: Mix, loads: Mapping[Key, Sequence[Seen]]) -> dict[str, float]:
    """Medians over the turns, and ratios of them; the units are in the names."""
    figures: dict[str, float] = {}
    for key, runs in loads.items():
        for unit, value in _UNITS.items():
            figures[f"{_name(key)}_{unit}"] = statistics.median(map(value, runs))
    for rival in RIVALS:
        figures |= _compared(figures, mix, rival)
    return figures


# By request for the plane, and which part of its time a process was busy: a client near 100 would
# be what is measured.
_UNITS: Mapping[str, Callable[[Seen], float]] = {
    "rps": lambda one: one.load.rps,
    "mean_ms": lambda one: one.load.mean_ms,
    "p99_ms": lambda one: one.load.p99_ms,
    "busy_us": lambda one: 1e6 * one.busy_s / max(one.load.requests, 1),
    "busy_pct": lambda one: 100 * one.busy_s / one.load.seconds,
    "client_pct": lambda one: 100 * one.client_s / one.load.seconds,
}


def _name(key: Key) -> str:
    mark, plane, way, at = key
    return f"{plane}_{way}{mark}_{at}"


def _compared(figures: Mapping[str, float], mix: Mix, rival: Rival) -> dict[str, float]:
    """Ratio of requests per second and reduction of the mean; the plain names are the smallest."""
    ratios, reductions, busy = {}, {}, {}
    for at in CONNECTIONS:
        ours = _name((mix.mark, rival.plane, "table", at))
        if f"{ours}_rps" not in figures:
            continue
        theirs = _name((mix.mark, rival.plane, rival.way, at))
        ratios[at] = figures[f"{ours}_rps"] / figures[f"{theirs}_rps"]
        busy[at] = figures[f"{theirs}_busy_us"] / max(figures[f"{ours}_busy_us"], 1e-3)
        means = figures[f"{ours}_mean_ms"] / figures[f"{theirs}_mean_ms"]
        reductions[at] = 100 * (1 - means)
    name = f"{rival.plane}_{RATIOS[rival.plane]}{rival.mark}{mix.mark}"
    reduction = f"{rival.plane}_rt_reduction{rival.mark}{mix.mark}"
    return {
        name: min(ratios.values()),
        f"{reduction}_pct": min(reductions.values()),
        **{f"{name}_{at}": value for at, value in ratios.items()},
        **{f"{name}_{at}_busy": value for at, value in busy.items()},
        **{f"{reduction}_{at}_pct": value for at, value in reductions.items()},
    }


def show(
    loads: Mapping[Key, Sequence[Seen]], figures: Mapping[str, float], mixes: Sequence[Mix]
) -> None:
    """Print the table: each form, and how many times the requests of expressions."""
    heads = ("req/s", "mean ms", "p99 ms", "busy us", "busy %", "client %")
    print(f"{'plane':<9}{'rules as':<32}{'conns':>6}" + "".join(f"{head:>10}" for head in heads))
    for key in loads:
        mark, plane, way, at = key
        values = (figures[f"{_name(key)}_{unit}"] for unit in _UNITS)
        listed = "".join(f"{value:>10.1f}" for value in values)
        print(f"{plane:<9}{way + mark:<32}{at:>6}{listed}")
    for mix in mixes:
        for rival in RIVALS:
            of_rival = f"{rival.mark}{mix.mark}"
            times = figures[f"{rival.plane}_{RATIOS[rival.plane]}{of_rival}"]
            less = figures[f"{rival.plane}_rt_reduction{of_rival}_pct"]
            print(
                f"{rival.plane:<9}{rival.way + mix.mark:<32}{times:6.1f} x the requests, "
                f"response time {less:5.1f} % less"
            )


if __name__ == "__main__":
    main()
