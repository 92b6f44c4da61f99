"""Our compiled route table against regular expressions one by one, on the real planes.

808 rules (30 % templates with parameters, the others prefixes of 6 to 8 segments), 20,000 distinct
URLs of 150 characters that hit them evenly, Envoy, nginx and HAProxy with one worker each, wrk with
one thread. The forms of a plane take turns, because a shared machine is not always as fast.
`python -m benchmarks.route_tables [--quick] [--json]`
"""

import argparse
import contextlib
import json
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.route_tables_planes import FORMS, Form, running
from benchmarks.route_tables_rules import Rules, drawn
from benchmarks.wrk import Load, Wrk, prepared

SEED = 2026
URLS = 20_000
CONNECTIONS = (64, 2_000)
# The paper's response time with its tree, below that with expressions.
PAPER_REDUCTION_PCT = 28.2
RATIOS = {"envoy": "tree_vs_regex", "nginx": "prefix_vs_regex", "haproxy": "map_vs_regex"}

Key = tuple[str, str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much is measured: turns of each form, and seconds of each number of connections."""

    turns: int
    seconds: tuple[int, int]


# The full run loads each form for five minutes. With 2,000 requests on their way the first answers
# take seconds.
FULL = Effort(turns=10, seconds=(10, 20))
QUICK = Effort(turns=1, seconds=(1, 4))


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One run: what the client saw, and the plane's processor time."""

    load: Load
    busy_s: float


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one turn of two seconds")
    parser.add_argument("--turns", type=int, help="turns of each form, instead of all")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    effort = QUICK if options.quick else FULL
    if options.turns:
        effort = Effort(turns=options.turns, seconds=effort.seconds)
    rules = drawn(URLS, SEED)
    loads = measured(rules, effort)
    figures = computed(loads)
    show(loads, figures)
    if options.json:
        print(json.dumps({"benchmark": "route_tables", "figures": figures}))


def measured(rules: Rules, effort: Effort) -> dict[Key, list[Seen]]:
    """Every run of each plane, way and number of connections."""
    found: dict[Key, list[Seen]] = {}
    with tempfile.TemporaryDirectory(prefix="signalbox-tables-") as name:
        wrk = prepared(Path(name), rules.urls)
        for plane in RATIOS:
            forms = [form for form in FORMS if form.plane == plane]
            for form, at, seen in _turns(forms, rules, wrk, effort):
                found.setdefault((form.plane, form.way, at), []).append(seen)
    failed = {key: sum(one.load.failed for one in runs) for key, runs in found.items()}
    if any(failed.values()):
        raise SystemExit(f"requests failed: {failed}")
    return found


def _turns(
    forms: Sequence[Form], rules: Rules, wrk: Wrk, effort: Effort
) -> list[tuple[Form, int, Seen]]:
    found = []
    with contextlib.ExitStack() as stack:
        planes = [
            stack.enter_context(
                running(form, rules, wrk.script.parent / f"{form.plane}-{form.way}")
            )
            for form in forms
        ]
        for _ in range(effort.turns):
            for at, seconds in zip(CONNECTIONS, effort.seconds, strict=True):
                for form, plane in zip(forms, planes, strict=True):
                    busy_s = plane.busy_s()
                    load = wrk.run(plane.port, at, seconds)
                    found.append((form, at, Seen(load=load, busy_s=plane.busy_s() - busy_s)))
    return found


def computed(loads: Mapping[Key, Sequence[Seen]]) -> dict[str, float]:
    """Medians over the turns, and ratios of them; the units are in the names."""
    figures: dict[str, float] = {"urls": URLS, "paper_rt_reduction_pct": PAPER_REDUCTION_PCT}
    for (plane, way, at), runs in loads.items():
        name = f"{plane}_{way.replace(' ', '_')}_{at}"
        figures[f"{name}_rps"] = statistics.median(one.load.rps for one in runs)
        figures[f"{name}_mean_ms"] = statistics.median(one.load.mean_ms for one in runs)
        figures[f"{name}_p99_ms"] = statistics.median(one.load.p99_ms for one in runs)
        figures[f"{name}_busy_us"] = statistics.median(
            1e6 * one.busy_s / max(one.load.requests, 1) for one in runs
        )
    for plane, ratio in RATIOS.items():
        figures |= _compared(figures, plane, ratio, "expressions", "")
    return figures | _compared(figures, "haproxy", "map_vs_regex", "cached_expressions", "_cached")


def _compared(
    figures: Mapping[str, float], plane: str, ratio: str, way: str, mark: str
) -> dict[str, float]:
    """Ratio of requests per second and reduction of the mean; the plain names are the smallest."""
    ratios, reductions, busy = {}, {}, {}
    for at in CONNECTIONS:
        ours, theirs = f"{plane}_table_{at}", f"{plane}_{way}_{at}"
        ratios[at] = figures[f"{ours}_rps"] / figures[f"{theirs}_rps"]
        busy[at] = figures[f"{theirs}_busy_us"] / max(figures[f"{ours}_busy_us"], 1e-3)
        means = figures[f"{ours}_mean_ms"] / figures[f"{theirs}_mean_ms"]
        reductions[at] = 100 * (1 - means)
    name, reduction = f"{plane}_{ratio}{mark}", f"{plane}_rt_reduction{mark}"
    return {
        name: min(ratios.values()),
        f"{reduction}_pct": min(reductions.values()),
        **{f"{name}_{at}": value for at, value in ratios.items()},
        **{f"{name}_{at}_busy": value for at, value in busy.items()},
        **{f"{reduction}_{at}_pct": value for at, value in reductions.items()},
    }


def show(loads: Mapping[Key, Sequence[Seen]], figures: Mapping[str, float]) -> None:
    """Print the table: each form, and how many times the requests of expressions."""
    heads = ("req/s", "mean ms", "p99 ms", "busy us")
    print(f"{'plane':<9}{'rules as':<20}{'conns':>6}" + "".join(f"{head:>10}" for head in heads))
    for plane, way, at in loads:
        name = f"{plane}_{way.replace(' ', '_')}_{at}"
        units = ("rps", "mean_ms", "p99_ms", "busy_us")
        rps, mean, p99, busy = (figures[f"{name}_{unit}"] for unit in units)
        print(f"{plane:<9}{way:<20}{at:>6}{rps:>10.0f}{mean:>10.2f}{p99:>10.2f}{busy:>10.1f}")
    for plane, ratio in RATIOS.items():
        times = figures[f"{plane}_{ratio}"]
        less = figures[f"{plane}_rt_reduction_pct"]
        print(f"{plane:<9}{times:6.1f} x the requests, response time {less:5.1f} % less")
    cached = figures["haproxy_map_vs_regex_cached"]
    print(f"haproxy  {cached:6.1f} x the requests of expressions with the default cache")


if __name__ == "__main__":
    main()
