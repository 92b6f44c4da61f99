"""Overload protection of an upstream (S0): real agents, a real Redis, and up to 2,000 users.

100 shows' seat maps, two agents with one Redis, and an upstream of fixed capacity whose service
time grows with its load (`overload_upstream` has the law). Each crowd looks twice in the same run,
through the same agents: at the service with the policy and at the same one without. Then the
gateway that holds a token is killed, and the upstream.
`python -m benchmarks.overload [--quick] [--json]`
"""

import asyncio
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import uvloop

from benchmarks import command
from benchmarks.overload_load import LOOKS_S, Crowd, Seen, ask, play
from benchmarks.overload_parts import BARE, LIFETIME_S, PROTECTED, THRESHOLD, Site, policy, site

SHOWS = 100
# N0 of the upstream's law: 100 requests per second.
AT_ONCE = 2
# So many ask more than the threshold has.
LEAST_USERS = 50
LIMITS_S = {"100ms": 0.1, "1s": 1.0, "2500ms": 2.5}
STALE = b"x-admission-cache: stale"
# One lifetime takes three.
TRIES = 15
HUNG = "/shows/hung/seats"
Figures = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Which crowds look, and for how long."""

    users: Sequence[int]
    warm_s: float
    seconds_s: float
    shows: int = SHOWS
    looks_s: tuple[float, float] = LOOKS_S


FULL = Plan(users=(10, 80, 250, 500, 1_000, 2_000), warm_s=6.0, seconds_s=8.0)
QUICK = Plan(users=(80, 500), warm_s=3.0, seconds_s=3.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What one crowd lived through, and what the upstream had to do for it."""

    users: int
    service: str
    seen: Seen
    upstream: Mapping[str, int]


def main() -> None:
    """Play, print the table, and the figures."""
    given = command.options(__doc__, quick="fewer users, shorter times")
    plan = QUICK if given.quick else FULL
    with tempfile.TemporaryDirectory() as folder, site(Path(folder), policy(), AT_ONCE) as parts:
        looks, figures = uvloop.run(_played(parts, plan))
    print(table(looks))
    for name, figure in figures.items():
        print(f"{name:26} {figure:10.3f}")
    command.end(given, "overload", figures)


async def _played(parts: Site, plan: Plan) -> tuple[list[Look], Figures]:
    looks = [
        await look(parts, plan, users, service)
        for users in plan.users
        for service in (BARE, PROTECTED)
    ]
    command.told("faults: no Redis, a killed holder, an upstream that is down")
    away = {"without_redis": float(parts.away())}
    faults = await killed_holder(parts) | await upstream_down(parts)
    return looks, figures_of(looks) | away | faults


async def look(parts: Site, plan: Plan, users: int, service: str) -> Look:
    """One crowd at one service."""
    command.told(f"{users} users, {service}")
    crowd = Crowd(
        users=users,
        ports=parts.ports,
        host=f"{service}.example",
        shows=plan.shows,
        warm_s=plan.warm_s,
        seconds_s=plan.seconds_s,
        looks_s=plan.looks_s,
    )
    playing = asyncio.create_task(play(crowd))
    await asyncio.sleep(plan.warm_s)
    await asyncio.to_thread(parts.figures)
    await asyncio.sleep(plan.seconds_s - 0.1)
    upstream = await asyncio.to_thread(parts.figures)
    seen = await playing
    await asyncio.to_thread(parts.calm)
    return Look(users=users, service=service, seen=seen, upstream=upstream)


async def killed_holder(parts: Site) -> Figures:
    """The agent that has a token dies; how long the one who waits at the other one waits."""
    host = f"{PROTECTED}.example"
    await _under_protection(parts)
    held = asyncio.create_task(ask(parts.ports[0], host, HUNG))
    await asyncio.to_thread(parts.until_in_work)
    waiting = asyncio.create_task(ask(parts.ports[1], host, HUNG))
    await asyncio.sleep(0.2)
    began_s = time.perf_counter()
    parts.agents[0].kill()
    await asyncio.to_thread(parts.release)
    status, _, _ = await waiting
    took_s = time.perf_counter() - began_s
    held.cancel()
    await asyncio.wait((held,))
    return {"takeover_s": took_s, "takeover_answered": float(status == 200)}


async def upstream_down(parts: Site, shows: int = SHOWS) -> Figures:
    """The upstream dies: old answers for what was read, a clear error for what never was."""
    host, port = f"{PROTECTED}.example", parts.ports[1]
    await _under_protection(parts, shows)
    parts.upstream.kill()
    parts.upstream.wait()
    await _until_old(parts, shows)
    known = await asyncio.gather(*(ask(port, host, f"/shows/{n}/seats") for n in range(shows)))
    new = await asyncio.gather(*(ask(port, host, f"/shows/new{n}/seats") for n in range(20)))
    stale = [status == 200 and STALE in raw for status, raw, _ in known]
    clear = [status == 503 and b"upstream_failed" in raw for status, raw, _ in new]
    return {
        "down_stale_share": sum(stale) / len(stale),
        "down_clear_error_share": sum(clear) / len(clear),
        "down_slowest_s": max(took for _, _, took in (*known, *new)),
    }


async def _until_old(parts: Site, shows: int) -> None:
    """Ask until answers are old: where the protection began anew meanwhile, they count as alive
    for one lifetime more."""
    host, port = f"{PROTECTED}.example", parts.ports[1]
    for _ in range(TRIES):
        await asyncio.sleep(LIFETIME_S / 3)
        asked = await asyncio.gather(
            *(ask(port, host, f"/shows/{n % shows}/seats") for n in range(THRESHOLD + 1))
        )
        if all(STALE in raw for _, raw, _ in asked):
            return


async def _under_protection(parts: Site, shows: int = SHOWS) -> None:
    """Ask for everything, often enough that the upstream is protected."""
    host, port = f"{PROTECTED}.example", parts.ports[1]
    for _ in range(THRESHOLD // shows + 2):
        await asyncio.gather(*(ask(port, host, f"/shows/{n}/seats") for n in range(shows)))


def figures_of(looks: Sequence[Look]) -> Figures:
    """The figures of all crowds."""
    protected = [one for one in looks if one.service == PROTECTED]
    bare = [one for one in looks if one.service == BARE]
    # Each user asks about once a second.
    full = [one for one in protected if one.users >= LEAST_USERS]
    loads = [one.upstream["answered"] / one.seen.seconds_s for one in full]
    figures: Figures = {
        "max_inflight_per_key": max(one.upstream["most_of_key"] for one in full),
        "max_inflight": max(one.upstream["most"] for one in full),
        "upstream_rps_first": loads[0],
        "upstream_rps_last": loads[-1],
    }
    for name, limit_s in LIMITS_S.items():
        best = max(one.seen.good_rps(limit_s) for one in protected)
        comparison = max(one.seen.good_rps(limit_s) for one in bare)
        figures[f"throughput_rps_{name}"] = best
        # Where nobody had an answer in time, the comparison is one in the whole time.
        least = 1.0 / bare[0].seen.seconds_s
        figures[f"throughput_gain_{name}"] = best / max(comparison, least)
    return figures


def table(looks: Sequence[Look]) -> str:
    """One line for each crowd."""
    names = "".join(f"{'<= ' + name:>10}" for name in LIMITS_S)
    says = "answers/s within a time; fetches/s upstream, most at once, most at once of one read"
    lines = [says, f"{'users':>6} {'service':10}{names} {'upstream':>10} {'most':>6} {'of one':>7}"]
    for one in looks:
        rates = "".join(f"{one.seen.good_rps(limit):10.0f}" for limit in LIMITS_S.values())
        load = one.upstream["answered"] / one.seen.seconds_s
        most, of_key = one.upstream["most"], one.upstream["most_of_key"]
        lines.append(f"{one.users:6} {one.service:10}{rates} {load:10.0f} {most:6} {of_key:7}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
