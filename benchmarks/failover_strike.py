"""One fault under load, and what became of the requests.

Used by `benchmarks.failover`.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import httpx

from benchmarks.failover_faults import Fault, begin, end
from benchmarks.failover_front import ENDPOINTS, LARGER, SERVICES, Front
from benchmarks.failover_load import OpenLoad
from benchmarks.failover_report import Scope, Struck, judged, since_ms

# Load before a fault, and how long the fault lasts.
BEFORE_S, WINDOW_S = 1.0, 2.0
POLL_S = 0.02

# Says when the services' side got nothing any more by what was published; None is not in time.
Watch = Callable[[Sequence[str], float], Awaitable[float | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One kind of trial.

    Attributes:
        retries_errors: whether the services say that their errors are tried again.
    """

    fault: Fault
    scope: Scope
    centers: int
    window_s: float = WINDOW_S
    retries_errors: bool = False

    @property
    def hit(self) -> Sequence[str]:
        """Services whose endpoints on the larger side fail."""
        return SERVICES if self.scope is Scope.CENTER else SERVICES[:1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """An Envoy with its back ends, under load."""

    front: Front
    load: OpenLoad


async def never(_hit: Sequence[str], _until_s: float) -> None:
    """Nobody publishes."""


async def strike(trials: Sequence[Trial], case: Case, watch: Watch) -> list[Struck]:
    """Let the larger side of each fail at once, wait, and undo it; what became of each.

    Args:
        watch: of the control plane; asked for the first trial.
    """
    backs = [back for one in trials for back in one.front.at(LARGER, case.hit)]
    for one in trials:
        one.load.outcomes.clear()
    await asyncio.sleep(BEFORE_S)
    # Not after the fault: some of the endpoints may be out by the first look.
    used = [(await one.front.healthy())[case.hit[0]] for one in trials]
    at_s = time.perf_counter()
    begin(case.fault, backs)
    until_s = at_s + case.window_s
    published_s, *isolated_s = await asyncio.gather(
        watch(case.hit, until_s),
        *(
            _isolated(one.front, dict.fromkeys(case.hit, count - ENDPOINTS[LARGER]), until_s)
            for one, count in zip(trials, used, strict=True)
        ),
    )
    await asyncio.sleep(until_s - time.perf_counter())
    await end(case.fault, backs)
    for one in trials:
        await one.load.answered(until_s)
    return [
        judged(
            one.load.outcomes,
            Struck(
                fault=case.fault,
                scope=case.scope,
                centers=case.centers,
                retries_errors=case.retries_errors,
                hit=case.hit,
                at_s=at_s,
                until_s=until_s,
                isolated_ms=since_ms(at_s, isolated),
                published_ms=since_ms(at_s, published_s),
            ),
        )
        for one, isolated in zip(trials, isolated_s, strict=True)
    ]


async def _isolated(before: Front, left: Mapping[str, int], until_s: float) -> float | None:
    """When Envoy uses no more endpoints than are left; None when it does all the time."""
    while time.perf_counter() < until_s:
        # It answers late when it has no processor.
        with contextlib.suppress(httpx.TransportError):
            now = await before.healthy()
            if all(now[service] <= count for service, count in left.items()):
                return time.perf_counter()
        await asyncio.sleep(POLL_S)
    return None
