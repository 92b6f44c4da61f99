"""Ticket bots among shoppers: who is found, and what shoppers gain while the bots come in waves.

First labelled traffic (`bots_traffic`) is judged as an agent judges it, over several seeds other
than those that the rules were made with. Then a wave of it is played in real time through a real
agent's proxy to a shop that bears less, with the filter and without it, in turn.
`python -m benchmarks.bots [--quick] [--json]`
"""

import asyncio
import contextlib
import statistics
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp
import uvloop

from benchmarks import command
from benchmarks.bots_traffic import Sent, Wave, traffic
from benchmarks.free_ports import free_ports
from benchmarks.proxied_site import USER_HEADER, proxied, site_of
from controlplane.domain.admission.abnormal_traffic.client import Client, answered
from controlplane.domain.admission.abnormal_traffic.policy import (
    AbnormalTrafficPolicy,
    RiskLevel,
    ScoreRule,
    Signal,
)
from controlplane.domain.admission.abnormal_traffic.scoring import scorer
from controlplane.domain.admission.asking import Asked
from controlplane.domain.admission.policy import Mode, Policy
from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.route import FunctionCall
from controlplane.domain.topology import Fleet

LOOPBACK = "127.0.0.1"
# The rules were made with seeds 0..3; none of those is measured.
FIRST_SEED = 100
GIVE_UP_S = 2.0
UNAUTHORIZED = 401
TAKES_S = 0.02
SHOP_PLACES, SLOW_PLACES = 6, 2

RULES = (
    ScoreRule(
        name="tool",
        score=50,
        when=(FunctionCall(name="user_agent_family", arguments=(("family", "bot"),)),),
    ),
    ScoreRule(name="fast", score=60, signal=Signal.RATE_RPS, at_least=2.2, requests=24),
    ScoreRule(name="steady", score=60, signal=Signal.RATE_RPS, at_least=0.66, requests=40),
    ScoreRule(name="hasty", score=60, signal=Signal.OPEN_TO_ORDER_S, at_most=1.0),
    ScoreRule(name="blind", score=60, signal=Signal.ORDER_WITHOUT_OPEN, at_least=1.0),
    ScoreRule(name="orders", score=60, signal=Signal.ORDERS, at_least=6.0),
    ScoreRule(name="guessing", score=60, signal=Signal.FAILED_LOGINS, at_least=4.0),
    ScoreRule(name="wide", score=60, signal=Signal.PATHS, at_least=30.0, requests=30),
)
POLICY = AbnormalTrafficPolicy(
    rules=RULES,
    levels=(RiskLevel(at_least=50, service="slow"),),
    hold_s=600.0,
    login_routes=("login",),
    open_routes=("item",),
    order_routes=("order",),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Seeds that are judged, and waves that are played: how often, and with how many clients."""

    seeds: int
    turns: int
    wave: Wave


QUICK = Size(seeds=1, turns=1, wave=Wave(clients=500, lasts_s=12.0, haste=5.0))
FULL = Size(seeds=20, turns=3, wave=Wave(clients=700, lasts_s=40.0, haste=4.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Got:
    """What became of one request: who served it, "" is nobody in time."""

    bot: bool
    service: str
    took_ms: float


def main() -> None:
    """Measure and print."""
    options = command.options(__doc__, quick="fewer seeds, one short wave")
    size = QUICK if options.quick else FULL
    figures = {**found(size.seeds), **uvloop.run(waves(size))}
    show(figures)
    command.end(options, "bots", figures)


def found(seeds: int) -> dict[str, float]:
    """Shares of the bots' and of the shoppers' requests that go to the slow queue."""
    recalls, false_positives = [], []
    for seed in range(FIRST_SEED, FIRST_SEED + seeds):
        slow, total = judged(traffic(Wave(), seed))
        recalls.append(slow[True] / total[True])
        false_positives.append(slow[False] / total[False])
    return {
        "bot_recall": round(statistics.fmean(recalls), 4),
        "bot_recall_worst_seed": round(min(recalls), 4),
        "shopper_false_positive": round(statistics.fmean(false_positives), 5),
        "shopper_false_positive_worst_seed": round(max(false_positives), 5),
    }


def judged(requests: Sequence[Sent]) -> tuple[dict[bool, int], dict[bool, int]]:
    """Requests in the slow queue, and all, of bots and of shoppers."""
    score, clients = scorer(POLICY), dict[str, Client]()
    slow, total = {True: 0, False: 0}, {True: 0, False: 0}
    for one in requests:
        asked = _asked(one)
        scored = score(clients.get(one.user), asked)
        clients[one.user] = answered(POLICY, scored.client, asked, one.status, one.at_s)
        total[one.bot] += 1
        slow[one.bot] += scored.level > 0
    return slow, total


async def waves(size: Size) -> dict[str, float]:
    """Shoppers' times and success with the filter and without, in turn."""
    figures: dict[str, list[float]] = {}
    for turn in range(size.turns):
        requests = traffic(size.wave, FIRST_SEED + turn)
        for name, mode in (("on", Mode.ENFORCE), ("off", Mode.OBSERVE)):
            command.told(f"wave {turn + 1} of {size.turns}, filter {name}")
            got = await played(requests, mode)
            for key, figure in _told(got).items():
                figures.setdefault(f"{key}_{name}", []).append(figure)
    return {name: round(statistics.median(values), 3) for name, values in figures.items()}


async def played(requests: Sequence[Sent], mode: Mode) -> list[Got]:
    """A wave through a new agent."""
    with TemporaryDirectory() as name:
        async with site(Path(name), mode) as url:
            return await sent(requests, url)


async def sent(requests: Sequence[Sent], url: str) -> list[Got]:
    """Each request at its time, whatever became of those before."""
    got: list[Got] = []
    timeout = aiohttp.ClientTimeout(total=GIVE_UP_S)
    connector = aiohttp.TCPConnector(limit=0)
    async with (
        aiohttp.ClientSession(timeout=timeout, connector=connector) as client,
        asyncio.TaskGroup() as tasks,
    ):
        began_s = time.monotonic()
        for one in requests:
            await asyncio.sleep(max(0.0, began_s + one.at_s - time.monotonic()))
            tasks.create_task(_send(client, one, url, got))
    return got


async def _send(client: aiohttp.ClientSession, one: Sent, url: str, got: list[Got]) -> None:
    headers = {USER_HEADER: one.user, "user-agent": one.agent}
    if one.status == UNAUTHORIZED:
        headers["x-wrong-password"] = "1"
    began_s, service = time.monotonic(), ""
    with contextlib.suppress(aiohttp.ClientError, TimeoutError):
        async with client.get(f"{url}{one.path}", headers=headers) as answer:
            await answer.read()
            service = answer.headers.get("x-service", "")
    got.append(Got(bot=one.bot, service=service, took_ms=(time.monotonic() - began_s) * 1_000))


def _told(got: Sequence[Got]) -> dict[str, float]:
    shoppers = [one for one in got if not one.bot]
    served = sorted(one.took_ms for one in shoppers if one.service)
    bots = [one for one in got if one.bot]
    return {
        "shoppers_p99_ms": served[round(0.99 * (len(served) - 1))],
        "shoppers_success": len(served) / len(shoppers),
        "bots_served_by_shop": sum(one.service == "shop" for one in bots) / len(bots),
        "shoppers_in_slow_queue": sum(one.service == "slow" for one in shoppers) / len(shoppers),
    }


def show(figures: Mapping[str, float]) -> None:
    """A table, with the filter beside without."""
    for name in ("bot_recall", "shopper_false_positive"):
        worst = figures[f"{name}_worst_seed"]
        print(f"{name.replace('_', ' '):<30}{figures[name]:>10.4f}   worst seed {worst:.4f}")
    print(f"{'wave':<30}{'filter on':>10}{'off':>10}")
    for name in ("shoppers_p99_ms", "shoppers_success", "bots_served_by_shop"):
        on, off = figures[f"{name}_on"], figures[f"{name}_off"]
        print(f"  {name.replace('_', ' '):<28}{on:>10.3f}{off:>10.3f}")


@contextlib.asynccontextmanager
async def site(folder: Path, mode: Mode) -> AsyncIterator[str]:
    """Shop, slow queue and an agent before them; the address of its proxy."""
    shop, slow = free_ports(2)
    services = {"shop": (shop, SHOP_PLACES), "slow": (slow, SLOW_PLACES)}
    async with proxied(folder, fleet(shop, slow, mode), services, TAKES_S) as url:
        yield url


def fleet(shop: int, slow: int, mode: Mode) -> Fleet:
    """A shop with its routes, a slow queue, and the policy."""
    paths = {"item": "/item", "api": "/api", "login": "/login", "order": "/order"}
    policy = Policy(name="bots", mode=mode, abnormal_traffic=POLICY)
    return site_of(
        {"shop": shop, "slow": slow}, {name: ("shop", path) for name, path in paths.items()}, policy
    )


def _asked(one: Sent) -> Asked:
    request = Request(path=one.path, headers={"user-agent": one.agent})
    return Asked(request=request, now_s=one.at_s, service="shop", route=one.route, user=one.user)


if __name__ == "__main__":
    main()
