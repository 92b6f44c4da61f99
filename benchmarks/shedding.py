"""Overload behind the agent's own proxy: who is refused, what is used, how often it is tried again.

Three parts, each with a real agent and the same without its policy, in turn: twice the load that a
service bears, with classes; a service whose speed is halved, with adaptive concurrency; a service
that fails everywhere, with a budget of retries.
`python -m benchmarks.shedding [--quick] [--json]`
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import aiohttp
import uvloop

from benchmarks import command
from benchmarks.free_ports import free_ports
from benchmarks.proxied_site import PATIENT, USER_HEADER, proxied, site_of
from controlplane.domain.admission.adaptive_concurrency import AdaptiveConcurrencyPolicy
from controlplane.domain.admission.policy import Policy
from controlplane.domain.admission.priority_shedding import PriorityClass, PrioritySheddingPolicy
from controlplane.domain.services import RetryPolicy

T = TypeVar("T")
W = TypeVar("W")
SERVICE = "shop"
PLACES, TAKES_S = 4, 0.02
CAPACITY_RPS = PLACES / TAKES_S
OVERLOAD = 2.0
# A quarter of all requests is of the class that matters most.
TOP_SHARE = 4
USERS = 100
GIVE_UP_S = 2.0
GOOD = 200
CLASSES = PrioritySheddingPolicy(
    classes=(PriorityClass(name="gates", routes=("gate",)),), target_ms=200.0
)
ADAPTIVE = AdaptiveConcurrencyPolicy()
BUDGET = 0.2
RETRIES = RetryPolicy(attempts=12, per_try_timeout_ms=1_000, budget=BUDGET)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Seconds of each part: until things have settled, and of what is measured.

    Attributes:
        compares: each part is played without its policy, too.
    """

    settle_s: float
    classes_s: float
    before_s: float
    after_s: float
    failing_s: float
    compares: bool = True


QUICK = Size(settle_s=3.0, classes_s=4.0, before_s=3.0, after_s=10.0, failing_s=2.0)
FULL = Size(settle_s=10.0, classes_s=60.0, before_s=20.0, after_s=20.0, failing_s=10.0)
# Throughput is that of so long at the end of a part.
TAIL_S = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where the agent's proxy is, and the port of the service itself."""

    url: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Got:
    """One request: when it was sent and answered, since the start, and its status, 0 is none."""

    at_s: float
    ended_s: float
    user: str
    route: str
    status: int


def main() -> None:
    """Measure and print."""
    options = command.options(__doc__, quick="shorter parts")
    figures = uvloop.run(measure(QUICK if options.quick else FULL))
    show(figures)
    command.end(options, "shedding", figures)


async def measure(size: Size) -> dict[str, float]:
    """All parts."""
    return {**await classes(size), **await halved(size), **await failing(size)}


async def classes(size: Size) -> dict[str, float]:
    """Twice what the service bears, with the policy and without."""
    figures: dict[str, float] = {}
    lasts_s = size.settle_s + size.classes_s
    for name, spec in _ways(size, CLASSES, None):
        command.told(f"classes{name}")
        policy = None if spec is None else Policy(name="classes", priority_shedding=spec)
        async with _site(policy) as made:
            got = await asked(made.url, lasts_s, OVERLOAD * CAPACITY_RPS)
        settled = [one for one in got if one.at_s >= size.settle_s]
        top = [one for one in settled if one.route == "gate"]
        figures[f"top_class_success{name}"] = round(_share(top, _good), 4)
        figures[f"success{name}"] = round(_share(settled, _good), 4)
        if spec is not None:
            figures["same_cohorts"] = round(_same_users(settled, lasts_s), 4)
    return figures


async def halved(size: Size) -> dict[str, float]:
    """Each request takes twice as long from the middle on; what is used of what is left."""
    figures: dict[str, float] = {}
    for name, spec in _ways(size, ADAPTIVE, None):
        policy = None if spec is None else Policy(name="adaptive", adaptive_concurrency=spec)
        async with _site(policy) as made:
            load = asyncio.create_task(
                asked(made.url, size.before_s + size.after_s, OVERLOAD * CAPACITY_RPS)
            )
            await asyncio.sleep(size.before_s)
            await _control(made, f"takes={2 * TAKES_S}")
            got = await load
        ends_s = size.before_s + size.after_s
        tail = [one for one in got if ends_s - TAIL_S <= one.ended_s < ends_s and _good(one)]
        late = sorted(one.ended_s - one.at_s for one in tail)
        figures[f"used_of_new_capacity{name}"] = round(len(tail) / TAIL_S / (CAPACITY_RPS / 2), 3)
        figures[f"halved_p50_ms{name}"] = round(1_000 * late[len(late) // 2], 1) if late else 0.0
    return figures


async def failing(size: Size) -> dict[str, float]:
    """Everything is answered 503: attempts for each request, with the budget and without."""
    figures: dict[str, float] = {}
    for name, retry in _ways(size, RETRIES, replace(RETRIES, budget=None)):
        async with _site(None, retry) as made:
            await _control(made, "fail=1")
            before = await _control(made, "tell=1")
            got = await asked(made.url, size.failing_s, CAPACITY_RPS / 4)
            came = await _control(made, "tell=1") - before
        figures[f"attempts_per_request{name}"] = round(came / len(got), 3)
    return figures


def _ways(size: Size, ours: T, without: W) -> tuple[tuple[str, T | W], ...]:
    """What is played under which ending of its figures."""
    return (("", ours), ("_without", without)) if size.compares else (("", ours),)


@contextlib.asynccontextmanager
async def _site(policy: Policy | None, retry: RetryPolicy = PATIENT) -> AsyncIterator[Site]:
    (port,) = free_ports(1)
    routes = {"gate": (SERVICE, "/gate"), "shop": (SERVICE, "/")}
    fleet = site_of({SERVICE: port}, routes, policy, retry)
    with TemporaryDirectory() as folder:
        async with proxied(Path(folder), fleet, {SERVICE: (port, PLACES)}, TAKES_S) as url:
            yield Site(url=url, port=port)


async def asked(url: str, lasts_s: float, rate_rps: float) -> list[Got]:
    """Requests at a steady rate, whatever becomes of them, of users in turn."""
    got: list[Got] = []
    timeout = aiohttp.ClientTimeout(total=GIVE_UP_S)
    connector = aiohttp.TCPConnector(limit=0)
    async with (
        aiohttp.ClientSession(timeout=timeout, connector=connector) as client,
        asyncio.TaskGroup() as tasks,
    ):
        began_s = time.monotonic()
        for number in range(round(lasts_s * rate_rps)):
            at_s = number / rate_rps
            await asyncio.sleep(max(0.0, began_s + at_s - time.monotonic()))
            route = "gate" if number % TOP_SHARE == 0 else "shop"
            # Users of one class only would have cohorts of one class only.
            user = f"user-{number // TOP_SHARE % USERS}"
            tasks.create_task(_ask(client, url, (route, user), began_s, got))
    return got


async def _ask(
    client: aiohttp.ClientSession,
    url: str,
    what: tuple[str, str],
    began_s: float,
    got: list[Got],
) -> None:
    route, user = what
    at_s, status = time.monotonic() - began_s, 0
    path = "/gate" if route == "gate" else "/shop"
    with contextlib.suppress(aiohttp.ClientError, TimeoutError):
        async with client.get(f"{url}{path}", headers={USER_HEADER: user}) as answer:
            await answer.read()
            status = answer.status
    ended_s = time.monotonic() - began_s
    got.append(Got(at_s=at_s, ended_s=ended_s, user=user, route=route, status=status))


async def _control(made: Site, query: str) -> int:
    """Tell the service something; how many requests it has had."""
    address = f"http://127.0.0.1:{made.port}/control?{query}"
    async with aiohttp.ClientSession() as client, client.get(address) as answer:
        return int(await answer.text())


def _good(one: Got) -> bool:
    return one.status == GOOD


def _share(got: Sequence[Got], holds: Callable[[Got], bool]) -> float:
    return sum(map(holds, got)) / max(1, len(got))


def _same_users(got: Sequence[Got], lasts_s: float) -> float:
    """Of users who were refused in the first half, the part that is refused in the second.

    A user is refused who is refused in most of his requests that are not of the top class.
    """
    half_s = (got[0].at_s + lasts_s) / 2
    halves = [
        _refused([one for one in got if one.route == "shop" and (one.at_s < half_s) is first])
        for first in (True, False)
    ]
    return len(halves[0] & halves[1]) / max(1, len(halves[0]))


def _refused(got: Sequence[Got]) -> frozenset[str]:
    counts: dict[str, list[int]] = {}
    for one in got:
        counted = counts.setdefault(one.user, [0, 0])
        counted[0] += 1
        counted[1] += not _good(one)
    return frozenset(user for user, (all_of, bad) in counts.items() if 2 * bad > all_of)


def show(figures: Mapping[str, float]) -> None:
    """A table, with the policy beside without."""
    print(f"{'':<34}{'with':>10}{'without':>10}")
    for name in ("top_class_success", "success", "used_of_new_capacity", "halved_p50_ms"):
        print(f"{name.replace('_', ' '):<34}{figures[name]:>10}{figures[f'{name}_without']:>10}")
    name = "attempts_per_request"
    print(f"{name.replace('_', ' '):<34}{figures[name]:>10}{figures[f'{name}_without']:>10}")
    print(f"{'same cohorts':<34}{figures['same_cohorts']:>10}")


if __name__ == "__main__":
    main()
