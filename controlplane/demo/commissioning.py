"""Commissioning: sweep the split, train on what was measured, put the model in service.

The sweep is ordinary operation: the learned lane is declared `static` with one ratio after the
other, and every step passes the envelope. Training runs in its own process, as it would
elsewhere.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from controlplane.demo.control import Control
from controlplane.demo.fleet import PRIMARY, lane_service
from controlplane.demo.launch import declare
from controlplane.demo.layout import Layout
from controlplane.demo.options import CYCLE_S, LEARNED_LANE, SWEEP_RATIOS
from controlplane.demo.processes import ChildFailed, python_module
from controlplane.domain.features import SCHEMA_DIGEST
from controlplane.domain.services import StrategyName
from models.storage import load, to_bytes

# The envelope lets a share move every second cycle; a step that it refuses is passed over.
HOLD_S = 2 * CYCLE_S
PATIENCE_S = 4 * CYCLE_S
POLL_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Commissioned:
    """What came out: rows of the data set, and the model's digest and scores."""

    rows: int
    model: str
    scores: dict[str, float]


async def sweep(control: Control, layout: Layout, tell: Callable[[str], None]) -> None:
    """Hold each ratio for two cycles; the first is in force since the start."""
    for ratio in SWEEP_RATIOS:
        await _reach(control, layout, ratio)
        tell(f"sweep: {ratio:.2f} of the traffic to the primary")
        # The next ratio is declared in time for the cycle at which the share may move again.
        await asyncio.sleep(HOLD_S - CYCLE_S / 2)


async def train(control: Control, directory: Path, workers: str) -> Commissioned:
    """Train on the sweep's samples in a process of its own, register and promote the model.

    Args:
        directory: for data set, model and log.
        workers: declared servers of both data centres, "8,5".
    """
    data = directory / "dataset.csv"
    rows = await control.dataset(LEARNED_LANE)
    await asyncio.to_thread(data.write_bytes, rows)
    out = directory / "model"
    arguments = ["train", "--data", str(data), "--service", LEARNED_LANE, "--out", str(out)]
    arguments += ["--settings", "quick", "--servers", workers, "--json"]
    arguments += ["--idle-cpu", "0,0", "--full-cpu", "1,1"]
    facts = await _run(arguments)
    digest = await control.add_model(to_bytes(load(out, SCHEMA_DIGEST)))
    await control.promote(LEARNED_LANE, digest)
    scores = {str(k): float(v) for k, v in facts.get("scores", {}).items()}
    return Commissioned(rows=rows.count(b"\n") - 1, model=digest, scores=scores)


async def go_live(control: Control, layout: Layout) -> None:
    """Let `hybrid` decide the learned lane from the next cycle on."""
    learned = lane_service(layout, LEARNED_LANE, StrategyName.HYBRID)
    await declare(control, layout, learned, "commissioning is over")


async def _reach(control: Control, layout: Layout, ratio: float) -> None:
    learned = lane_service(layout, LEARNED_LANE, StrategyName.STATIC, ratio)
    await declare(control, layout, learned, f"commissioning sweep at {ratio:.2f}")
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE_S
    while loop.time() < deadline:
        shares = await control.shares(PRIMARY)
        if abs(shares.get(LEARNED_LANE, 0.0) - ratio) < 1e-3:
            return
        await asyncio.sleep(POLL_S)


async def _run(arguments: list[str]) -> dict[str, dict[str, float]]:
    process = await asyncio.create_subprocess_exec(
        *python_module("training", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    if process.returncode != 0:
        raise ChildFailed(f"training ended with {process.returncode}: {err.decode()[-2000:]}")
    facts: dict[str, dict[str, float]] = json.loads(out)
    return facts
