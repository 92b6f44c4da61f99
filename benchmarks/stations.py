"""Stations of a bike-share system behind the diverter: a new connection for each message.

3,111 stations of six regions, unequal as in a morning, report as fast as they are answered, through
the diverter with its policy in the path; in the same run through HAProxy as a plain TCP proxy, and
to one server directly. Then one region's server becomes too busy and recovers, and one is killed.
`python -m benchmarks.stations [--quick] [--json]`
"""

import asyncio
import itertools
import json
import statistics
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
from prometheus_client.parser import text_string_to_metric_families

from benchmarks import command
from benchmarks.stations_fleet import LOOPBACK, STATIONS, Site, site

PAPER_PER_MINUTE = 16_138


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Seconds of each part, and how often the first one is played."""

    turns: int
    speed_s: float
    busy_s: float
    calm_s: float
    fault_s: float


QUICK = Size(turns=1, speed_s=4.0, busy_s=6.0, calm_s=9.0, fault_s=4.0)
FULL = Size(turns=5, speed_s=12.0, busy_s=20.0, calm_s=20.0, fault_s=12.0)


def main() -> None:
    """Measure and print."""
    options = command.options(__doc__, quick="one short turn of each part")
    figures = asyncio.run(measure(QUICK if options.quick else FULL))
    show(figures)
    command.end(options, "stations", figures)


async def measure(size: Size) -> dict[str, float]:
    """All parts, each on a site of its own."""
    with TemporaryDirectory() as folder:
        async with site(Path(folder)) as made:
            figures = await speed(made, size)
            figures |= await busy(made, size)
            figures |= await dead(made, size)
    return figures


async def speed(made: Site, size: Size) -> dict[str, float]:
    """Connections a minute, ours and the rivals' in turn."""
    ways = {"": made.diverter, "_direct": made.server_ports[0]}
    if made.haproxy is not None:
        ways["_haproxy"] = made.haproxy
    rates: dict[str, list[float]] = {way: [] for way in ways}
    failures, slowest_ms = 0, 0.0
    for _ in range(size.turns):
        for way, port in ways.items():
            told = await reported(port, size.speed_s)
            rates[way].append(60 * told["answered"] / told["seconds"])
            if not way:
                failures += int(told["failed"])
                slowest_ms = max(slowest_ms, told["slowest_ms"])
    found = {
        f"connections_per_minute{way}": statistics.median(all_of) for way, all_of in rates.items()
    }
    ours = found["connections_per_minute"]
    ratios = {
        f"ratio_vs{way}": round(ours / found[f"connections_per_minute{way}"], 2)
        for way in ways
        if way
    }
    return {
        **{name: round(rate) for name, rate in found.items()},
        **ratios,
        "ratio_vs_paper": round(ours / PAPER_PER_MINUTE, 1),
        "failures": failures,
        "slowest_ms": round(slowest_ms, 1),
    }


async def busy(made: Site, size: Size) -> dict[str, float]:
    """The busiest region's server bears half of what comes, for a while, and then all of it.

    Its pool use is told once a second, as a share of what it bears.
    """
    load = asyncio.create_task(reported(made.diverter, size.busy_s + size.calm_s))
    shares: list[float] = []
    async with httpx.AsyncClient(trust_env=False) as client:
        before = await _facts(client, made.status)
        loop = asyncio.get_running_loop()
        began_s = last_s = loop.time()
        usual_rps = 0.0
        while (now_s := loop.time()) < began_s + size.busy_s + size.calm_s - 0.5:
            await asyncio.sleep(1.0)
            facts = await _facts(client, made.status)
            now_s = loop.time()
            rate = (facts["dc-0"] - before["dc-0"]) / (now_s - last_s)
            before, last_s = facts, now_s
            usual_rps = usual_rps or rate
            bears_rps = usual_rps * (0.5 if now_s < began_s + size.busy_s else 2.0)
            told = {"datacenter": "dc-0", "pool_use": min(1.0, rate / bears_rps)}
            await client.post(f"http://{LOOPBACK}:{made.loads}/v1/load", json=told)
            shares.append(facts["away"])
    found = await load
    moves = [b - a for a, b in itertools.pairwise(shares) if abs(b - a) > 1e-3]
    turns = sum((a > 0) is not (b > 0) for a, b in itertools.pairwise(moves))
    return {
        "overflow_share": round(max(shares), 3),
        "overflow_begins": sum(a == 0.0 < b for a, b in itertools.pairwise(shares)),
        "overflow_direction_changes": turns,
        "overflow_returned": float(shares[-1] == 0.0),
        "overflow_failures": int(found["failed"]),
    }


async def dead(made: Site, size: Size) -> dict[str, float]:
    """A server is killed, and later another one is stopped, under load."""
    figures: dict[str, float] = {}
    for name, number, at in (("killed", 9, 1), ("hung", 19, 2)):
        load = asyncio.create_task(reported(made.diverter, size.fault_s))
        await asyncio.sleep(size.fault_s / 3)
        made.servers[at].process.send_signal(number)
        told = await load
        figures[f"{name}_failures"] = int(told["failed"])
        figures[f"{name}_answered"] = int(told["answered"])
        figures[f"{name}_slowest_ms"] = round(told["slowest_ms"], 1)
    return figures


async def reported(port: int, seconds: float) -> dict[str, float]:
    """What the stations tell after so long."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "benchmarks.stations_site",
        "stations",
        *("--port", str(port), "--stations", str(STATIONS), "--seconds", str(seconds)),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    told: dict[str, float] = json.loads(out)
    return told


def show(figures: Mapping[str, float]) -> None:
    """A table with ratios."""
    print(f"{'connections a minute':<34}{figures['connections_per_minute']:>12,.0f}")
    for way, words in (("_haproxy", "HAProxy, TCP"), ("_direct", "one server directly")):
        rate = figures.get(f"connections_per_minute{way}")
        if rate is not None:
            print(f"  {words:<32}{rate:>12,.0f}{figures[f'ratio_vs{way}']:>8.2f} x")
    print(f"  {'the paper':<32}{PAPER_PER_MINUTE:>12,.0f}{figures['ratio_vs_paper']:>8.1f} x")
    for name in list(figures)[list(figures).index("failures") :]:
        print(f"{name.replace('_', ' '):<34}{figures[name]:>12,}")


async def _facts(client: httpx.AsyncClient, status: int) -> dict[str, float]:
    """Connections by data centre, and the share of the first region that goes elsewhere."""
    text = (await client.get(f"http://{LOOPBACK}:{status}/metrics")).text
    found: dict[str, float] = {"away": 0.0}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == "signalbox_diverter_connections_total":
                center = sample.labels["datacenter"]
                found[center] = found.get(center, 0.0) + sample.value
            if (
                sample.labels.get("region") == "region-0"
                and sample.name == "signalbox_diverter_away"
            ):
                found["away"] = sample.value
    return found


if __name__ == "__main__":
    main()
