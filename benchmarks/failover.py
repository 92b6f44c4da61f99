"""How soon users are well again when back ends fail: `python -m benchmarks.failover`.

A real `serve`, a real Envoy and back ends of two, then three data centres as programs, under 400
requests a second by a timetable that waits for no answer. The larger side fails, in all its
services or in one, by each kind of fault in turn. Repaired is when the last request that failed or
was late has ended. `[--quick] [--json]`
"""

import argparse
import asyncio
import contextlib
import json
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import uvloop

from benchmarks.failover_control import operator_call_ms, published, settle
from benchmarks.failover_faults import Fault, begin, end, has_rules
from benchmarks.failover_load import OpenLoad
from benchmarks.failover_report import (
    Results,
    Scope,
    Struck,
    figures_of,
    judged,
    line,
    show,
    since_ms,
)
from benchmarks.failover_site import LARGER, SERVICES, FailoverSite, site

RATE_RPS = 400.0
# Load before a fault, and how long the fault lasts.
BEFORE_S, WINDOW_S = 1.0, 2.0
POLL_S = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One kind of trial."""

    fault: Fault
    scope: Scope
    centers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Faults, and then how many calls of an operator."""

    cases: tuple[Case, ...]
    calls: int


_FEW = (
    Case(fault=Fault.KILL, scope=Scope.CENTER, centers=2),
    Case(fault=Fault.HANG, scope=Scope.CENTER, centers=2),
    Case(fault=Fault.LOSS, scope=Scope.CENTER, centers=3),
    Case(fault=Fault.KILL, scope=Scope.CLUSTER, centers=3),
)
KILLS, OTHERS = 13, 3
_MANY = tuple(
    Case(fault=fault, scope=scope, centers=centers)
    for centers in (2, 3)
    for fault in Fault
    for scope in Scope
    for _ in range(KILLS if fault is Fault.KILL else OTHERS)
)


QUICK, FULL = Plan(cases=_FEW, calls=5), Plan(cases=_MANY, calls=100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A site under load."""

    site: FailoverSite
    load: OpenLoad


async def run(plan: Plan) -> Results:
    """Everything of a plan, then one more kill without the control plane."""
    struck: list[Struck] = []
    with tempfile.TemporaryDirectory(prefix="signalbox-failover-") as folder:
        async with _under_load(Path(folder)) as trial:
            centers = 2
            await settle(trial.site, centers)
            for case in plan.cases:
                if case.centers != centers:
                    centers = case.centers
                    await trial.site.declare(centers)
                    await settle(trial.site, centers)
                struck.append(await strike(trial, case))
                print(line(struck[-1]), flush=True)
            calls = [await operator_call_ms(trial.site, trial.load) for _ in range(plan.calls)]
            await trial.site.serve.kill()
            alone = Case(fault=Fault.KILL, scope=Scope.CENTER, centers=centers)
            last = await strike(trial, alone, controlled=False)
    return Results(struck=struck, calls_ms=calls, alone=last)


@contextlib.asynccontextmanager
async def _under_load(folder: Path) -> AsyncIterator[Trial]:
    async with site(folder) as running:
        load = OpenLoad(port=running.listener, rate_rps=RATE_RPS, services=SERVICES)
        async with load.running():
            yield Trial(site=running, load=load)


async def strike(trial: Trial, case: Case, *, controlled: bool = True) -> Struck:
    """Let the larger side fail, wait, and undo it; what became of the requests.

    Args:
        controlled: whether there is a control plane.
    """
    hit = SERVICES if case.scope is Scope.CENTER else SERVICES[:1]
    backs = trial.site.at(LARGER, hit)
    trial.load.outcomes.clear()
    await asyncio.sleep(BEFORE_S)
    at_s = time.perf_counter()
    begin(case.fault, backs)
    until_s = at_s + WINDOW_S
    isolated_s, published_s = await asyncio.gather(
        _isolated(trial.site, hit, at_s),
        published(trial.site.api, hit, until_s) if controlled else _never(),
    )
    await asyncio.sleep(until_s - time.perf_counter())
    await end(case.fault, backs)
    await trial.load.answered(until_s)
    if controlled:
        await settle(trial.site, case.centers)
    return judged(
        trial.load.outcomes,
        Struck(
            fault=case.fault,
            scope=case.scope,
            centers=case.centers,
            hit=hit,
            at_s=at_s,
            until_s=until_s,
            isolated_ms=since_ms(at_s, isolated_s),
            published_ms=since_ms(at_s, published_s),
        ),
    )


async def _never() -> None:
    """Nobody publishes."""


async def _isolated(running: FailoverSite, hit: Sequence[str], at_s: float) -> float | None:
    """When Envoy uses no endpoint of the side any more; None when it does all the time."""
    before = await running.healthy()
    while time.perf_counter() < at_s + WINDOW_S:
        now = await running.healthy()
        if all(now[service] <= before[service] - 5 for service in hit):
            return time.perf_counter()
        await asyncio.sleep(POLL_S)
    return None


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few faults, below 50 s")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    print(f"packets are lost by {'rules of nftables' if has_rules() else 'filters on sockets'}")
    results = uvloop.run(run(QUICK if options.quick else FULL))
    figures = figures_of(results)
    show(figures)
    if options.json:
        print(json.dumps({"benchmark": "failover", "figures": figures}))


if __name__ == "__main__":
    main()
