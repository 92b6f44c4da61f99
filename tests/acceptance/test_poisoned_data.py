"""Issue 4, line 7: a model of poisoned rows meets no traffic, and the reason can be read.

Real rows of the simulator are poisoned, trained and examined as a training job does it, and sent to
a running control plane. The champion there is a sound model of the same service.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from models import storage
from models.artifact import ModelArtifact
from tests.soak.player import SERVICE, fleet
from tests.soak.server import Server, serving
from tests.training import poisons
from training.dataset import Dataset
from training.examination.examine import examine
from training.learning.law_fit import Declared
from training.learning.settings import NetworkSettings, TrainingSettings
from training.learning.version import Job, train_version
from training.simulation.world import load_world

SETTINGS = {"envoy_preflight": "off", "retraining_mode": "manual"}
# Poison is found by the rows, not by how long a network was trained on them.
BRIEF = TrainingSettings(name="quick", mlp=None, residual=NetworkSettings(epochs=2, batch=256))
DAYS, SEED = 3, 3


def trained(rows: Dataset) -> ModelArtifact:
    """As `python -m training train` does it."""
    declared = Declared(servers=16.0)
    job = Job(
        service=SERVICE,
        settings=BRIEF,
        seed=1,
        created_at_s=1.7e9,
        primary=declared,
        secondary=declared,
    )
    artifact = train_version(rows, job, lambda _stage, _epoch: None)
    return replace(artifact, examination=examine(rows, artifact))


def poisoned() -> dict[str, tuple[Dataset, str]]:
    """Kind of poison -> rows, and the check that must say so."""
    rows = poisons.clean("W1", DAYS, SEED)
    confounded = poisons.planted("W1", DAYS, SEED)
    return {
        "labels shuffled": (poisons.shuffled_labels(rows), "label_follows"),
        "units changed": (poisons.seconds(rows, 0.3), "primary_response_unit"),
        "units changed throughout": (poisons.seconds(rows), "level_changed"),
        "one centre's columns swapped": (poisons.exchanged_centers(rows), "share_follows_ratio"),
        "two columns swapped": (poisons.exchanged("response_time_ms")(rows), "response_own"),
        "a confounder planted": (confounded, "not_confounded"),
    }


async def send(server: Server, artifact: ModelArtifact) -> dict:
    answer = await server.http.post("/v1/models", content=storage.to_bytes(artifact))
    answer.raise_for_status()
    return dict(answer.json())


async def promote(server: Server, digest: str, **word: object) -> int:
    body = {"service": SERVICE, "reason": "test", **word}
    answer = await server.http.post(f"/v1/models/{digest}:promote", json=body)
    return answer.status_code


async def refused(server: Server, rows: Dataset, check: str) -> bool:
    """Send a model of these rows; whether it is out of the shadow, refused, and why is told."""
    model = await send(server, trained(rows))
    newest = (await server.items(f"/v1/services/{SERVICE}/promotions", limit=1))[0]
    card = (await server.http.get(f"/v1/models/{model['digest']}/card")).text
    words = [newest["reason"], card if "level_changed" not in check else newest["reason"]]
    told = newest["event"] == "refused" and newest["model"] == model["digest"]
    return (
        model["aliases"] == ["challenger"]
        and told
        and all(check in word for word in words)
        and await promote(server, model["digest"]) == 403
    )


@pytest.mark.parametrize("world", ["W1", "W3"])
def test_a_model_of_sound_rows_passes(world: str) -> None:
    """A model of sound rows passes the examination that refuses poisoned ones."""
    artifact = trained(poisons.clean(world, DAYS, SEED + 1))
    assert [check for check in artifact.examination if not check.passed] == []


async def test_a_poisoned_training_set_is_not_promoted(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """A poisoned training set gives a challenger that is not promoted; the report says why."""
    async with serving(tmp_path, SETTINGS) as server:
        (await server.http.put("/v1/fleet", json=fleet(load_world("W1")))).raise_for_status()
        sound = await send(server, trained(poisons.clean("W1", DAYS, SEED + 1)))
        assert sound["aliases"] == ["challenger", "shadow"]
        assert await promote(server, sound["digest"]) == 200
        verdicts = {
            kind: await refused(server, rows, check) for kind, (rows, check) in poisoned().items()
        }
        record_property("poisons_refused", f"{sum(verdicts.values())} of {len(verdicts)}")
        assert all(verdicts.values()), verdicts
        champions = [
            one["digest"]
            for one in await server.items("/v1/models")
            if "champion" in one["aliases"]
        ]
        assert champions == [sound["digest"]]
