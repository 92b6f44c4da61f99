"""Strategies in a closed loop, in worlds whose best split is known: who decides well, and how well.

All meet the same weathers (common random numbers) and pass the same envelope, which is the control
plane's own code; `paper_mlp` plays bare too. Models are trained on a month of the operator's logs
and the physics is fitted from them. The full run has 20 seeds of 28 days in nine worlds.
`python -m benchmarks.closed_loop [--quick] [--json] [--out FILE]`
"""

import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from benchmarks import command
from training.backtest import progress, result
from training.backtest.adversaries import ordeals, vs_rule_pct
from training.backtest.scores import BEST_STATIC, ORACLE, STATIC, Score
from training.backtest.tournament import Plan, run

RULES = ("cpu_equalizer", "threshold", "observed_laws")
SIMPLE = (STATIC, "capacity", *RULES)
MAIN, DITHERED = "hybrid", "hybrid:dither"
PAPER, PAPER_BARE, PROJECTED = "paper_mlp", "paper_mlp:bare", "projected_mlp"
CONTESTANTS = (*RULES, MAIN, DITHERED, PAPER, PAPER_BARE, PROJECTED)
WORLDS = tuple(f"W{number}" for number in range(1, 10))
# Worlds in which nothing breaks, and those in which something does.
SOUND, FAULTY = ("W1", "W2", "W3", "W4", "W8"), ("W5", "W6", "W7")
FULL = Plan(contestants=CONTESTANTS, worlds=WORLDS, days=28, seeds=20)
# Days that each kind of bad model lives through in each world of the full run.
ORDEAL_SEEDS = range(10)
QUICK = Plan(
    contestants=("cpu_equalizer", "observed_laws", MAIN),
    worlds=("W1", "W3", "W4"),
    days=7,
    seeds=2,
)

Table = dict[tuple[str, str], Score]
Figures = dict[str, float]


def main() -> None:
    """Play, print the table, and the figures with their limits."""
    parser = command.parser(__doc__, quick="W1, W3, W4, two seeds, a week")
    parser.add_argument("--out", type=Path, help="write scores, figures and digest to this file")
    parser.add_argument("--processes", type=int, default=0, help="at once; 0: one per core")
    options = parser.parse_args()
    plan = QUICK if options.quick else FULL
    plan = replace(plan, processes=options.processes)
    started = time.monotonic()
    with progress.shown() as tell:
        played = run(plan, tell)
    minutes = (time.monotonic() - started) / 60.0
    table = {(one.world, one.label): one for one in played.scores}
    figures = {**figures_of(table, plan), "minutes": minutes}
    if not options.quick:
        figures["adversarial_worst_vs_rule_pct"] = _worst_of_bad_models(plan.worlds)
    print(result.table(played.scores))
    for name, value in figures.items():
        print(f"{name:<40}{value:>10.3f}")
    if options.out:
        content = result.document(plan, played, minutes)
        result.write_json({"benchmark": "closed_loop", "figures": figures, **content}, options.out)
    command.end(options, "closed_loop", figures)


def figures_of(table: Table, plan: Plan) -> Figures:
    """The figures that the worlds of a plan allow."""
    played = [world for world in plan.worlds if (world, MAIN) in table]
    sound = [world for world in played if world in SOUND]
    ours = [table[world, MAIN] for world in played]
    figures = {f"regret_pct_{world.lower()}": table[world, MAIN].regret_pct for world in played}
    figures |= {
        "regret_pct_worst_world": max(table[world, MAIN].regret_pct for world in sound),
        "oracle_gain_share_w1": table["W1", MAIN].gain_share,
        "worst_day_vs_static_pct": max(
            table[world, MAIN].worst_day_vs_static_pct for world in sound
        ),
        "changes_per_day": max(one.changes_per_day for one in ours),
        "changes_per_day_mean": _mean([table[world, MAIN].changes_per_day for world in sound]),
        "total_variation_per_day": max(one.variation_per_day for one in ours),
        "total_variation_per_day_mean": _mean(
            [table[world, MAIN].variation_per_day for world in sound]
        ),
        "guard_violations": float(sum(one.violations for one in table.values())),
        "excess_overload_minutes_14d": max(
            table[world, MAIN].overload_minutes_14d - table[world, ORACLE].overload_minutes_14d
            for world in sound
        ),
        "gap_to_best_simple_pts": max(_gap(table, world) for world in played),
    }
    faulty = [world for world in played if world in FAULTY]
    if faulty:
        figures["worst_fault_world_vs_static_pct"] = max(
            table[world, MAIN].vs_static_pct for world in faulty
        )
    return figures | _dithered(table, played) | _paper(table, played) | _users(table)


def _worst_of_bad_models(worlds: Iterable[str]) -> float:
    """How much slower a day with a model that is wrong on purpose was than by the better rule."""
    cases = (vs_rule_pct(ordeals(world, ORDEAL_SEEDS)) for world in worlds)
    return max(max(by_case.values()) for by_case in cases)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _gap(table: Table, world: str) -> float:
    """Regret of ours above the best simple strategy of this world, in points."""
    simple = [table[world, label].regret_pct for label in SIMPLE if (world, label) in table]
    return table[world, MAIN].regret_pct - min(simple)


def _dithered(table: Table, worlds: list[str]) -> Figures:
    covered = [
        table[world, DITHERED] for world in worlds if (world, DITHERED) in table and world in SOUND
    ]
    known = [one.coverage for one in covered if one.coverage is not None]
    if not known:
        return {}
    costs = [(one.mean_ms / table[one.world, MAIN].mean_ms - 1.0) * 100.0 for one in covered]
    return {
        "interval_coverage": table["W1", DITHERED].coverage or 0.0,
        "interval_coverage_lowest": min(known),
        "interval_coverage_highest": max(known),
        "dither_cost_pct_highest": max(costs),
        "dither_changes_per_day": max(one.changes_per_day for one in covered),
    }


def _paper(table: Table, worlds: list[str]) -> Figures:
    guarded = [table[world, PAPER] for world in worlds if (world, PAPER) in table]
    guarded = [one for one in guarded if one.world in SOUND]
    if not guarded:
        return {}
    static = sum(table[one.world, STATIC].mean_ms for one in guarded)
    return {
        "paper_bare_vs_static_pct_w1": table["W1", PAPER_BARE].vs_static_pct,
        "paper_bare_vs_static_pct_w3": table["W3", PAPER_BARE].vs_static_pct,
        "paper_guarded_mean_vs_static_pct": (sum(one.mean_ms for one in guarded) / static - 1)
        * 100.0,
        "paper_guarded_worst_day_pct": max(one.worst_day_vs_static_pct for one in guarded),
    }


def _users(table: Table) -> Figures:
    """W9: against the historical ratio, and the best static one, in time and throughput."""
    if ("W9", MAIN) not in table:
        return {}
    ours, held, best = (table["W9", label] for label in (MAIN, STATIC, BEST_STATIC))
    return {
        "paper_table_rt_pct": ours.vs_static_pct,
        "paper_table_qps_pct": _more(ours, held),
        "best_static_rt_pct": best.vs_static_pct,
        "best_static_qps_pct": _more(best, held),
    }


def _more(one: Score, reference: Score) -> float:
    assert one.saturation_rps is not None
    assert reference.saturation_rps is not None
    return (one.saturation_rps / reference.saturation_rps - 1.0) * 100.0


if __name__ == "__main__":
    main()
