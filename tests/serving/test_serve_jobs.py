"""Training jobs of `signalbox serve` as a process: what a kill and a stop leave behind."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from tests.soak.player import SERVICE, fleet
from tests.soak.server import Server, serving
from training import dataset
from training.simulation import simulator, weather, world

SETTINGS = {"envoy_preflight": "off", "retraining_mode": "manual", "training_settings": "paper"}
MINUTES = 400


async def report(server: Server) -> None:
    """Declare a service and send some hours of it."""
    place = world.load_world("W1")
    (await server.http.put("/v1/fleet", json=fleet(place))).raise_for_status()
    drawn = weather.draw(place, MINUTES, 1)
    ratio = weather.operator_ratio(place, MINUTES, 1)
    rows = simulator.simulate(place, drawn, ratio)
    shift_s = time.time() - rows.time_s[-1]
    samples = [
        {
            "service": SERVICE,
            "datacenter": name,
            "time": float(rows.time_s[at]) + shift_s,
            "request_rate_rps": float(series.request_rate_rps[at]),
            "response_time_ms": float(series.response_time_ms[at]),
            "cpu_avg": float(series.cpu_avg[at]),
        }
        for at in range(len(rows))
        for name, series in centers(rows)
    ]
    for start in range(0, len(samples), 200):
        body = {"samples": samples[start : start + 200]}
        (await server.http.post("/v1/samples", json=body)).raise_for_status()
    # The intake writes once a second.
    await asyncio.sleep(1.5)


def centers(rows: dataset.Dataset) -> tuple[tuple[str, dataset.CenterSeries], ...]:
    return (("dc-east", rows.primary), ("dc-west", rows.secondary))


async def training(server: Server) -> dict:
    """Start a training; the job while its process runs."""
    answer = await server.http.post(f"/v1/services/{SERVICE}:train", json={})
    answer.raise_for_status()
    async with asyncio.timeout(60):
        while True:
            job = await server.get(answer.headers["Location"])
            assert isinstance(job, dict)
            assert job["state"] in ("queued", "running"), job
            if job["progress"] > 0:
                return job
            await asyncio.sleep(0.05)


def trainers(folder: Path) -> list[int]:
    """Training processes of this data folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if b"training" in words and str(folder).encode() in words:
                found.append(int(entry.name))
    return found


async def gone(folder: Path) -> None:
    async with asyncio.timeout(5):
        while trainers(folder):
            await asyncio.sleep(0.05)


async def test_a_killed_service_takes_its_training_along_and_queues_it_again(
    tmp_path: Path,
) -> None:
    with pytest.raises(ProcessLookupError):
        async with serving(tmp_path, SETTINGS) as server:
            await report(server)
            job = await training(server)
            assert len(trainers(tmp_path)) == 1
            os.kill(server.pid, signal.SIGKILL)
            await gone(tmp_path)
    async with serving(tmp_path, SETTINGS, server.token) as server:
        dead = await server.get(f"/v1/jobs/{job['id']}")
        assert isinstance(dead, dict)
        assert (dead["state"], dead["error"]) == ("failed", "job_interrupted")
        second = (await server.items("/v1/jobs"))[0]
        assert (second["attempt"], second["seed"]) == (2, job["seed"])
        answer = await server.http.post(f"/v1/jobs/{second['id']}:cancel", json={})
        assert answer.status_code == 200
        await gone(tmp_path)


async def test_a_stopped_service_ends_its_training(tmp_path: Path) -> None:
    async with serving(tmp_path, SETTINGS) as server:
        await report(server)
        await training(server)
        assert len(trainers(tmp_path)) == 1
    assert trainers(tmp_path) == []
    assert not (tmp_path / "data" / "training").exists()
