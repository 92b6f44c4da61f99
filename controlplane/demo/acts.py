"""The acts of the play: commission, schedule live and compare, lose a data centre, stay up.

Called by `run` in this order. Each act is one function of the stage and answers its figures.
"""

import asyncio
import time
from dataclasses import dataclass
from statistics import fmean

from controlplane.demo import commissioning, launch
from controlplane.demo.commissioning import Commissioned
from controlplane.demo.figures import Comparison, compare
from controlplane.demo.fleet import PRIMARY, SECONDARY
from controlplane.demo.launch import NODE
from controlplane.demo.options import (
    EQUAL_LANE,
    LEARNED_LANE,
    PERIOD_S,
    SWEEP_LOAD,
    SWEEP_RATIOS,
)
from controlplane.demo.stage import Stage
from controlplane.demo.trace import read_trace
from controlplane.demo.traffic import Outage, Stretch

# Where in the trace the comparison begins (a minute of the trace is a period).
COMPARISON_START = 100
# The survivor alone bears this in the failover act (its utilisation, batch load included).
SURVIVOR_UTILIZATION = 0.60
BEFORE_KILL_S = 6.0
AFTER_KILL_S = 12.0
# Pieces of steady load: short, so that an act can end soon.
PIECE_PERIODS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """Act 2: the comparison, and the measured utilisation of the equal lane's hotter centre."""

    comparison: Comparison
    equal_split_utilisation: float
    weight_changes: int


async def commission(stage: Stage) -> tuple[Commissioned, float]:
    """Act 1: sweep under a lighter load, train, go live.

    Returns:
        The model, and the rate per lane (requests/s) for the comparison.
    """
    rate_rps = SWEEP_LOAD * stage.base_rate_rps
    stage.screen.tell(
        f"commissioning: sweep from {SWEEP_RATIOS[0]:.2f} to {SWEEP_RATIOS[-1]:.2f} of the "
        f"traffic to the primary, at {SWEEP_LOAD:.0%} of the load"
    )
    load = asyncio.create_task(_steady_load(stage, "sweep", rate_rps))
    await commissioning.sweep(stage.control, stage.rig.layout, stage.screen.tell)
    # One whole period of the batch load, so that its swing does not count.
    wave_s = stage.rig.layout.datacenter(SECONDARY).background.period_s
    measured = stage.board.measurements.mean_utilization(
        (EQUAL_LANE, SECONDARY), time.time() - wave_s, time.time()
    )
    stage.screen.tell("training on what was measured, in a process of its own")
    workers = ",".join(str(center.workers) for center in stage.rig.layout.datacenters)
    commissioned = await commissioning.train(stage.control, stage.rig.directory, workers)
    await commissioning.go_live(stage.control, stage.rig.layout)
    stage.screen.tell(
        f"live scheduling: model {commissioned.model[:12]}, trained on {commissioned.rows} rows"
    )
    load.cancel()
    await asyncio.gather(load, return_exceptions=True)
    if measured is None:
        return commissioned, stage.base_rate_rps
    return commissioned, stage.pace.rate_rps(rate_rps, measured)


async def compare_live(stage: Stage, rate_rps: float) -> Live:
    """Act 2: every lane gets the same arrivals of the real trace; only the splits differ."""
    periods = max(round(stage.options.minutes * 60.0 / PERIOD_S), 2)
    stretch = Stretch(name="comparison", rate_rps=rate_rps, periods=periods, start=COMPARISON_START)
    begun_s = time.time()
    trimming = asyncio.create_task(_hold_utilization(stage, begun_s, periods * PERIOD_S))
    changes_before = await _weight_changes(stage)
    lanes = await stage.traffic.play(stretch)
    ended_s = time.time()
    trimming.cancel()
    await asyncio.gather(trimming, return_exceptions=True)
    stage.traffic.trim(1.0)
    utilization = stage.board.measurements.mean_utilization(
        (EQUAL_LANE, SECONDARY), begun_s + PERIOD_S, ended_s
    )
    return Live(
        comparison=compare(lanes),
        equal_split_utilisation=utilization if utilization is not None else 0.0,
        weight_changes=await _weight_changes(stage) - changes_before,
    )


async def fail_over(stage: Stage) -> Outage:
    """Act 3: the larger data centre dies under a load that the other one can bear."""
    small = stage.rig.layout.datacenter(SECONDARY)
    own = SURVIVOR_UTILIZATION - stage.pace.background
    rate_rps = own * small.workers * 1000.0 / stage.rig.layout.demand.mean_ms
    load = asyncio.create_task(_steady_load(stage, "failover", rate_rps))
    stage.screen.tell("failover: the larger data centre is killed in a moment")
    await asyncio.sleep(BEFORE_KILL_S)
    killed_s = time.time()
    victim = stage.rig.sites[PRIMARY]
    victim.kill()
    stage.rig.processes.forget(victim)
    stage.screen.tell("the larger data centre was killed (kill -9)")
    await asyncio.sleep(AFTER_KILL_S)
    outage = await stage.traffic.outage(killed_s)
    load.cancel()
    await asyncio.gather(load, return_exceptions=True)
    return outage


async def stay(stage: Stage) -> None:
    """Act 4: the dead data centre comes back; everything stays up until interrupted."""
    launch.start_site(stage.rig, PRIMARY)
    stage.screen.tell(f"up until Ctrl-C: {stage.board.console_url}, the token stands above")
    await _steady_load(stage, "browsing", stage.base_rate_rps)


async def acknowledgements(stage: Stage) -> tuple[int, int]:
    """ACKs and NACKs of the demo's Envoy so far."""
    nodes = {node["name"]: node for node in await stage.control.gateways()}
    return int(nodes[NODE]["acks"]), int(nodes[NODE]["nacks"])


async def _steady_load(stage: Stage, name: str, rate_rps: float) -> None:
    """Load until cancelled, in short pieces of the trace with one always waiting."""
    ahead: asyncio.Task[object] | None = None
    number = 0
    while True:
        piece = Stretch(
            name=f"{name}-{number}",
            rate_rps=rate_rps,
            periods=PIECE_PERIODS,
            start=number * PIECE_PERIODS,
        )
        task: asyncio.Task[object] = asyncio.create_task(stage.traffic.play(piece))
        if ahead is not None:
            await asyncio.shield(ahead)
        stage.rig.processes.check()
        ahead = task
        number += 1


async def _hold_utilization(stage: Stage, begun_s: float, length_s: float) -> None:
    """Trim the common rate towards the agreed utilisation of the equal split.

    Only after whole periods of the batch load: within one, its own swing would be mistaken for
    the requests'. The trace rises and falls, so what is coming counts with its own shape.
    """
    shape = read_trace().shape(COMPARISON_START, round(length_s / PERIOD_S))
    wave_s = stage.rig.layout.datacenter(SECONDARY).background.period_s
    factor, load = 1.0, 0.0
    for wave in range(1, int((length_s - 1.0) // wave_s) + 1):
        await asyncio.sleep(begun_s + wave * wave_s - time.time())
        first, last = (round(n * wave_s / PERIOD_S) for n in (wave - 1, wave))
        load += factor * sum(shape[first:last])
        mean = stage.board.measurements.mean_utilization(
            (EQUAL_LANE, SECONDARY), begun_s, time.time()
        )
        if mean is not None:
            done = wave * wave_s / length_s
            factor = stage.pace.trim(mean, load / last, fmean(shape[last:]), done)
            stage.traffic.trim(factor)


async def _weight_changes(stage: Stage) -> int:
    decisions = await stage.control.decisions(LEARNED_LANE, 1000)
    return sum(1 for decision in decisions if decision["applied"] != decision["decided"])
