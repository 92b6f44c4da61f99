"""`signalbox models train`: here in a process of its own, or as a job of the control plane."""

import json
import math
from pathlib import Path

import pytest

from controlplane.adapters.predictor import learned
from controlplane.domain.features import SCHEMA_DIGEST
from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.situation import LearnedModel
from controlplane.ports.learning import StoredModel
from models import storage
from tests import builders
from tests.cli.conftest import Run, Server

MINUTES = 150
SHARES = (0.45, 0.5, 0.55, 0.6)


def samples(last_s: float) -> list[dict[str, object]]:
    """Two data centres whose response time follows a queue, at changing load and share."""
    rows: list[dict[str, object]] = []
    for minute in range(MINUTES):
        load_rps = 85.0 + 20.0 * math.sin(minute / 12.0)
        share = SHARES[minute // 10 % len(SHARES)]
        for name, part, capacity in (("beijing-1", share, 80.0), ("beijing-2", 1 - share, 50.0)):
            use = min(0.97, load_rps * part / capacity)
            rows.append(
                {
                    "service": "tickets",
                    "datacenter": name,
                    "time": last_s - 60.0 * (MINUTES - minute),
                    "request_rate_rps": load_rps * part,
                    "response_time_ms": 12.0 + 8.0 * use**3 / (1.0 - use),
                    "cpu_avg": 0.05 + 0.9 * use,
                    "cpu_max": 0.06 + 0.9 * use,
                    "memory": 0.5,
                    "disk": 0.3,
                    "ingress_bandwidth_bps": 8_000.0 * load_rps * part,
                }
            )
    return rows


def read(data: bytes, created_s: float) -> tuple[StoredModel, LearnedModel]:
    """What the shelf of models makes of an upload, without a disk."""
    artifact = storage.from_bytes(data, SCHEMA_DIGEST)
    stored = StoredModel(
        digest=artifact.digest, service=artifact.service, created_s=created_s, description="{}"
    )
    return stored, learned(artifact)


@pytest.fixture
def taught(server: Server, run: Run, tmp_path: Path) -> Run:
    """A server that has samples of some hours."""
    hybrid = builders.service(strategy=StrategyName.HYBRID)
    server.do(server.house.declare(builders.fleet(hybrid)))
    server.house.registry.read = read
    file = tmp_path / "samples.jsonl"
    lines = (json.dumps(row) for row in samples(server.house.clock.time_s))
    file.write_text("\n".join(lines), "utf-8")
    assert run("samples", "send", "-f", str(file)).code == 0
    server.do(server.house.intake.flush())
    return run


def test_a_trained_model_is_registered_promoted_and_decides(
    server: Server, taught: Run, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = taught(
        "models",
        "train",
        "tickets",
        "--here",
        "--settings",
        "quick",
        "--out",
        str(out),
        "--promote",
        "--json",
    )
    assert done.code == 0, done.err
    model = json.loads(done.out)
    assert model["aliases"] == ["champion"]
    assert model["digest"] == storage.load(out, SCHEMA_DIGEST).digest
    assert (out / "dataset.csv").read_text("utf-8").startswith("time_s,primary_request_rate_rps")
    assert model["digest"][:12] in taught("models", "list").out
    again = taught("models", "promote", "tickets", model["digest"][:8], "--reason", "by prefix")
    assert again.code == 0
    assert "decides for tickets" in again.err
    assert taught("models", "promote", "tickets", model["digest"][:3]).code == 2

    server.do(server.house.tick())
    (decision,) = json.loads(taught("decisions", "list", "--json").out)
    shown = taught("decisions", "show", decision["id"]).out
    assert "strategy: hybrid" in shown
    assert "predicted mean response time against the share of beijing-1" in shown
    assert "a applied before, p proposed, D decided" in shown


def test_training_that_fails_registers_nothing(taught: Run) -> None:
    assert taught("models", "train", "tickets", "--here", "--settings", "magic").code == 2
    assert taught("models", "train", "tickets", "--settings", "quick").code == 2
    assert json.loads(taught("models", "list", "--json").out) == []
