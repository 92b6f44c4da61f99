"""The stage of the play: every process started, measured and drawn, and ended again.

Called by `run`; the acts get a `Stage` and never start a process of the rig themselves.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from controlplane.demo import launch
from controlplane.demo.control import Control, ControlFailed
from controlplane.demo.fleet import PRIMARY, SECONDARY, lane_service
from controlplane.demo.launch import Rig
from controlplane.demo.layout import Layout
from controlplane.demo.measuring import measure
from controlplane.demo.options import (
    EQUAL_UTILIZATION,
    LEARNED_LANE,
    SWEEP_RATIOS,
    DemoOptions,
)
from controlplane.demo.pacing import Pace
from controlplane.demo.processes import Processes
from controlplane.demo.screen import Board, Screen
from controlplane.demo.trace import rate_for_utilisation
from controlplane.demo.traffic import Traffic
from controlplane.domain.access import AccessRole
from controlplane.domain.services import StrategyName

REFRESH_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Everything that the acts share."""

    options: DemoOptions
    rig: Rig
    control: Control
    traffic: Traffic
    board: Board
    screen: Screen
    pace: Pace

    @property
    def base_rate_rps(self) -> float:
        """Rate per lane at which the equal split should reach its utilisation."""
        layout = self.rig.layout
        workers = layout.datacenter(SECONDARY).workers
        demand_s = layout.demand.mean_ms / 1000.0
        return rate_for_utilisation(workers, self.pace.target, self.pace.background, demand_s)


@contextlib.asynccontextmanager
async def stage(
    options: DemoOptions, processes: Processes, directory: Path, screen: Screen
) -> AsyncIterator[Stage]:
    """Start every process, measure and draw beside the acts, and end both with them."""
    screen.tell("starting two data centres, the control plane and Envoy")
    rig = launch.start_sites(processes, launch.new_layout(), directory)
    async with launch.start_control_plane(rig) as control:
        await _declare(control, rig.layout)
        await launch.start_envoy(rig, control)
        screen.board.console_url = f"{control.url}/console/"
        token = await control.issue_token("demo-viewer", AccessRole.VIEWER)
        screen.tell(f"look around meanwhile: {screen.board.console_url} with the token {token}")
        ready = Stage(
            options=options,
            rig=rig,
            control=control,
            traffic=await launch.start_traffic(rig),
            board=screen.board,
            screen=screen,
            pace=Pace(
                background=rig.layout.datacenter(SECONDARY).background.mean,
                target=EQUAL_UTILIZATION,
            ),
        )
        beside = [
            asyncio.create_task(measure(rig.layout, control, screen.board.measurements)),
            asyncio.create_task(_draw(ready)),
        ]
        try:
            yield ready
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)


async def _declare(control: Control, layout: Layout) -> None:
    first = lane_service(layout, LEARNED_LANE, StrategyName.STATIC, SWEEP_RATIOS[0])
    await launch.declare(control, layout, first, "the demo's fleet")


async def _draw(stage: Stage) -> None:
    """Keep the board and the screen up to date until cancelled."""
    while True:
        with contextlib.suppress(ControlFailed):
            stage.board.shares = await stage.control.shares(PRIMARY)
        stage.board.lanes = stage.traffic.period
        stage.screen.refresh()
        await asyncio.sleep(REFRESH_S)
