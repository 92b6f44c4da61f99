"""Sessions in line in front of a small site (S3): the paper's experiment, with real processes.

3,000 requests in sessions of five, so many users at once, each new one as soon as one is done; an
initial pool of 2, updated every 5 s; a site that slows down the more it has to do at once
(`session_queue_site` has its law). All times are multiplied by one scale. Beside the session queue,
in the same run and in front of the same site: a queue of requests whose pool follows the same law,
and in the full run the site alone. Then the site's speed is halved in the middle of a steady crowd.
What the law alone gives, without processes (`session_queue_model`), stands beside as `model_`.
`python -m benchmarks.session_queue [--quick] [--json]`
"""

import asyncio
import json
import math
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from benchmarks import command
from benchmarks.session_queue_load import Played, crowd, steady
from benchmarks.session_queue_model import Site, crowd_of
from benchmarks.session_queue_parts import (
    ROOM,
    SERVICE_S,
    STATELESS,
    TARGET_OF_SERVICE,
    UPDATE_S,
    Running,
    calm,
    policy,
    running,
    tell_site,
)
from benchmarks.session_queue_site import KNEE, SLOWING

SESSIONS = 600
STEADY_USERS = 100
# Periods until the pool has followed a change, and that are looked at before and after it.
FOLLOWS, STEADY_PERIODS = 6, 9
# The pool has grown when the response time is near its target, or will not any more.
NEAR, MOST_GROWING = 0.2, 40
# Periods that one mean of the response time is taken over.
WINDOW = 3
KINDS = ("session", "request", "direct")

# (kind, users) -> what the crowd lived through.
Table = dict[tuple[str, int], Played]
Figures = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Which crowds are played.

    Attributes:
        scale: of all times.
        session, request, direct: users at once, of each kind.
        compared: those of which the stays are compared.
        stateless: whether they are compared without the cost of open sessions, too.
    """

    scale: float
    session: Sequence[int]
    request: Sequence[int]
    direct: Sequence[int] = ()
    stateless: bool = False


COMPARED = range(400, 501, 10)
FULL = Plan(
    scale=0.1,
    session=(10, 50, 100, 150, 200, 250, 300, 350, *COMPARED),
    request=(300, 350, *COMPARED),
    direct=(10, 50, 100, 200, 300),
    stateless=True,
)
# The middle of 400 to 500 stands for all of it, so that times can be longer than what a crowd of
# 500 costs the agent when it comes at once.
QUICK = Plan(scale=0.05, session=(100, 450, 500), request=(450,))


def main() -> None:
    """Play, print the table, and the figures."""
    options = command.options(__doc__, quick="fewer crowds, shorter times")
    table, figures = asyncio.run(measure(QUICK if options.quick else FULL))
    show(table, figures)
    command.end(options, "session_queue", figures)


async def measure(plan: Plan) -> tuple[Table, Figures]:
    """Everything of a plan."""
    with tempfile.TemporaryDirectory() as folder:
        async with running(plan.scale, ROOM, Path(folder)) as parts:
            table = await played(plan, parts)
            figures = {**flatness(table), **stays(table), **await halved(parts)}
        figures |= modeled(plan.request)
        if plan.stateless:
            async with running(plan.scale, STATELESS, Path(folder)) as parts:
                only = Plan(scale=plan.scale, session=COMPARED, request=COMPARED)
                found = stays(await played(only, parts))
            figures["stay_reduction_stateless_pct"] = found["stay_reduction_pct"]
    return table, figures


async def played(plan: Plan, parts: Running) -> Table:
    """All crowds; kinds take turns, so that each meets the same machine."""
    table: Table = {}
    ports = {"session": parts.session, "request": parts.request, "direct": parts.site}
    counts = {"session": plan.session, "request": plan.request, "direct": plan.direct}
    for users in sorted({each for wanted in counts.values() for each in wanted}):
        for kind in KINDS:
            if users in counts[kind]:
                await calm(parts)
                command.told(f"{users} users, {kind}")
                table[kind, users] = await crowd(ports[kind], users, SESSIONS)
    return table


def flatness(table: Table) -> Figures:
    """How much the total time differs from 100 users to 500, relative to the shortest."""
    totals = [
        one.total_s for (kind, users), one in table.items() if kind == "session" and users >= 100
    ]
    return {
        "flatness": max(totals) / min(totals) - 1.0,
        "position_rises": float(sum(one.rises for one in table.values())),
        "failures": float(sum(one.failures for one in table.values())),
    }


def stays(table: Table) -> Figures:
    """Mean stay of sessions in line against that of requests in line, over all crowds of both."""
    both = [users for kind, users in table if kind == "request" and users in COMPARED]
    reductions = [
        1.0 - _stay(table["session", users]) / _stay(table["request", users]) for users in both
    ]
    return {"stay_reduction_pct": fmean(reductions) * 100.0}


def modeled(played_with: Iterable[int]) -> Figures:
    """The same figures of the laws alone, in the paper's own times."""
    users = [each for each in played_with if each in COMPARED]
    figures: Figures = {}
    for name, room in (("", ROOM), ("_stateless", STATELESS)):
        site = Site(service_s=SERVICE_S, knee=KNEE, slowing=SLOWING, room=room)
        play = crowd_of(site, policy(1.0), SESSIONS)
        reductions = [1.0 - play("session", c)[1] / play("request", c)[1] for c in users]
        figures[f"model_stay_reduction{name}_pct"] = fmean(reductions) * 100.0
    return figures


async def halved(parts: Running) -> Figures:
    """The site's own response time before and after its speed is halved, against the target."""
    await calm(parts)
    command.told("the site at half its speed")
    period_s = UPDATE_S * parts.scale
    target_s = SERVICE_S * TARGET_OF_SERVICE * parts.scale
    users = asyncio.create_task(steady(parts.session, STEADY_USERS))
    await _grown(parts, period_s, target_s)
    await asyncio.sleep(STEADY_PERIODS * period_s)
    before = await _log(parts)
    await tell_site(parts.site, "/speed/0.5")
    await asyncio.sleep((FOLLOWS + STEADY_PERIODS) * period_s)
    after = await _log(parts)
    users.cancel()
    await asyncio.gather(users, return_exceptions=True)
    off = {
        "before": _windows(before, period_s),
        "after": _windows(after, period_s),
    }
    relative = {name: [mean / target_s - 1.0 for mean in means] for name, means in off.items()}
    settled = relative["after"][math.ceil(FOLLOWS / WINDOW) :]
    return {
        "response_before_pct": fmean(relative["before"]) * 100.0,
        "response_after_pct": fmean(settled) * 100.0,
        "response_worst_pct": max(map(abs, [*relative["before"], *settled])) * 100.0,
        "response_after_with_change_pct": fmean(relative["after"]) * 100.0,
    }


async def _grown(parts: Running, period_s: float, target_s: float) -> None:
    """Wait until the pool has grown from its initial size."""
    for _ in range(MOST_GROWING):
        await asyncio.sleep(period_s)
        seen = [took_s for _, took_s in await _log(parts)]
        if seen and abs(fmean(seen) / target_s - 1.0) <= NEAR:
            return


async def _log(parts: Running) -> list[tuple[float, float]]:
    """When each answer of the site ended, and how long it took."""
    return [(at_s, took_s) for at_s, took_s, _ in json.loads(await tell_site(parts.site, "/log"))]


def _windows(log: Sequence[tuple[float, float]], period_s: float) -> list[float]:
    """Mean response times, each over `WINDOW` periods; the last part of one is left out."""
    length_s = WINDOW * period_s
    began_s, ended_s = log[0][0], log[-1][0]
    count = int((ended_s - began_s) / length_s)
    windows: list[list[float]] = [[] for _ in range(count)]
    for at_s, took_s in log:
        place = int((at_s - began_s) / length_s)
        if place < count:
            windows[place].append(took_s)
    return [fmean(one) for one in windows if one]


def _stay(one: Played) -> float:
    return fmean(one.stays_s)


def show(table: Table, figures: Mapping[str, float]) -> None:
    """Print the table: total time and mean stay by users at once, and the figures."""
    print(f"{'users':>6}" + "".join(f"{kind + ' total':>16}{'stay':>9}" for kind in KINDS))
    for users in sorted({users for _, users in table}):
        print(f"{users:>6}" + "".join(_cells(table.get((kind, users))) for kind in KINDS))
    for line in _lines(figures):
        print(line)


def _cells(one: Played | None) -> str:
    return " " * 25 if one is None else f"{one.total_s:>14.2f} s{_stay(one):>7.2f} s"


def _lines(figures: Mapping[str, float]) -> Iterable[str]:
    return (f"{name:<34}{value:>10.3f}" for name, value in figures.items())


if __name__ == "__main__":
    main()
