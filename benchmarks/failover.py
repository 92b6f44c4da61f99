"""How soon users are well again when back ends fail: `python -m benchmarks.failover`.

A real `serve`, a real Envoy and back ends of two, then three data centres as programs, under 400
requests a second by a timetable that waits for no answer. The larger side fails, in all its
services or in one, by each kind of fault in turn. Repaired is when the last request that failed or
was late has ended. Beside it the same faults meet two Envoys without a control plane.
`[--quick] [--json]`
"""

import contextlib
import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import uvloop

from benchmarks import command
from benchmarks.failover_control import operator_call_ms, published, settle
from benchmarks.failover_faults import Fault, has_rules
from benchmarks.failover_front import SERVICES
from benchmarks.failover_load import OpenLoad
from benchmarks.failover_pairs import Pair, pair_figures, show_pairs
from benchmarks.failover_report import Results, Scope, Struck, figures_of, line, show
from benchmarks.failover_rivals import Rival, rivals
from benchmarks.failover_site import FailoverSite, site
from benchmarks.failover_strike import Case, Trial, never, strike

RATE_RPS = 400.0
# Long enough for two checks each 5 s, of which the second may run into its time limit.
PAIRED_S, PAIRED_QUICK_S = 14.0, 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Faults, those that the others meet, too, and then how many calls of an operator."""

    cases: tuple[Case, ...]
    paired: tuple[Case, ...]
    calls: int


_FEW = (
    Case(fault=Fault.KILL, scope=Scope.CENTER, centers=2),
    Case(fault=Fault.HANG, scope=Scope.CENTER, centers=2),
    Case(fault=Fault.KILL, scope=Scope.CLUSTER, centers=3),
)
KILLS, OTHERS = 13, 3
_MANY = tuple(
    Case(fault=fault, scope=scope, centers=centers)
    for centers in (2, 3)
    for fault in Fault
    for scope in Scope
    for _ in range(KILLS if fault is Fault.KILL else OTHERS)
) + tuple(
    Case(fault=fault, scope=Scope.CENTER, centers=centers, retries_errors=True)
    for centers in (2, 3)
    for fault in (Fault.ERRORS, Fault.ERRORS_BEHIND)
    for _ in range(OTHERS)
)
_PAIRED_FEW = (Case(fault=Fault.KILL, scope=Scope.CENTER, centers=3, window_s=PAIRED_QUICK_S),)
_PAIRED_MANY = tuple(
    Case(fault=fault, scope=Scope.CENTER, centers=centers, window_s=PAIRED_S)
    for centers in (2, 3)
    for fault in Fault
)


QUICK = Plan(cases=_FEW, paired=_PAIRED_FEW, calls=3)
FULL = Plan(cases=_MANY, paired=_PAIRED_MANY, calls=100)


@dataclass(slots=True, kw_only=True)
class Run:
    """One run of a plan: our site under load, and what was measured."""

    site: FailoverSite
    trial: Trial
    folder: Path
    struck: list[Struck] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)

    async def with_centers(self, plan: Plan, centers: int) -> None:
        """Everything of a plan that has so many data centres."""
        for is_retried in (True, False):
            cases = [
                case
                for case in plan.cases
                if case.centers == centers and case.retries_errors is is_retried
            ]
            if cases:
                await self.site.declare(centers, retries_errors=is_retried)
                await settle(self.site, centers)
            for case in cases:
                self.struck.append(await self.controlled(case))
                print(line(self.struck[-1]), flush=True)
        paired = [case for case in plan.paired if case.centers == centers]
        if paired:
            async with rivals(self.folder, centers, RATE_RPS) as others:
                for case in paired:
                    self.pairs.append(await self.pair(case, others))

    async def controlled(self, case: Case) -> Struck:
        """A fault on our site, and everything well again."""

        async def watch(hit: Sequence[str], until_s: float) -> float | None:
            return await published(self.site.api, hit, until_s)

        (struck,) = await strike([self.trial], case, watch)
        await settle(self.site, case.centers)
        return struck

    async def pair(self, case: Case, others: dict[Rival, Trial]) -> Pair:
        """A fault on our site, and then on both of the others; who waits has no load."""
        ours = await self.controlled(case)
        print(f"ours      {line(ours)}", flush=True)
        self.trial.load.is_held = True
        for other in others.values():
            await other.front.well(case.centers)
            other.load.is_held = False
        theirs = dict(zip(others, await strike(list(others.values()), case, never), strict=True))
        for rival, struck in theirs.items():
            others[rival].load.is_held = True
            print(f"{rival:<10}{line(struck)}", flush=True)
        self.trial.load.is_held = False
        return Pair(ours=ours, rivals=theirs)


async def run(plan: Plan) -> tuple[Results, list[Pair]]:
    """Everything of a plan, then one more kill without the control plane."""
    with tempfile.TemporaryDirectory(prefix="signalbox-failover-") as name:
        async with _under_load(Path(name)) as running:
            for centers in (2, 3):
                await running.with_centers(plan, centers)
            trial, ours = running.trial, running.site
            calls = [await operator_call_ms(ours, trial.load) for _ in range(plan.calls)]
            await ours.serve.kill()
            alone = Case(fault=Fault.KILL, scope=Scope.CENTER, centers=3)
            (last,) = await strike([trial], alone, never)
    results = Results(struck=running.struck, calls_ms=calls, alone=last)
    return results, running.pairs


@contextlib.asynccontextmanager
async def _under_load(folder: Path) -> AsyncIterator[Run]:
    async with site(folder) as running:
        load = OpenLoad(port=running.front.listener, rate_rps=RATE_RPS, services=SERVICES)
        async with load.running():
            trial = Trial(front=running.front, load=load)
            yield Run(site=running, trial=trial, folder=folder)


def main() -> None:
    """Measure and print."""
    options = command.options(__doc__, quick="a few faults, below 50 s")
    print(f"packets are lost by {'rules of nftables' if has_rules() else 'filters on sockets'}")
    results, pairs = uvloop.run(run(QUICK if options.quick else FULL))
    figures = figures_of(results)
    show(figures)
    show_pairs(pairs)
    figures |= pair_figures(pairs)
    command.end(options, "failover", figures)


if __name__ == "__main__":
    main()
