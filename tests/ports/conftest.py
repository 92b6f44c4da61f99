"""Every suite of this directory runs on the stores in memory and on SQLite."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from controlplane.adapters.model_files import ModelFiles
from controlplane.adapters.predictor import learned
from controlplane.adapters.sql.stores import SqlStores, sqlite_url
from controlplane.domain.errors import Invalid
from controlplane.domain.features import SCHEMA_DIGEST
from controlplane.domain.strategies.situation import LearnedModel
from controlplane.ports.learning import StoredModel
from models import storage
from models.errors import ArtifactError
from tests.fakes.stores import MemoryStores

Stores = MemoryStores | SqlStores


@pytest.fixture(params=["memory", "sqlite"])
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stores]:
    if request.param == "memory":
        memory = MemoryStores()
        memory.models.read = read_artifact
        yield memory
        return
    opened = await SqlStores.open(
        sqlite_url(tmp_path / "signalbox.db"), ModelFiles(tmp_path / "models", learned)
    )
    yield opened
    await opened.close()


def read_artifact(data: bytes, created_s: float) -> tuple[StoredModel, LearnedModel]:
    try:
        artifact = storage.from_bytes(data, SCHEMA_DIGEST)
    except ArtifactError as error:
        raise Invalid("model_invalid", str(error)) from error
    stored = StoredModel(
        digest=artifact.digest, service=artifact.service, created_s=created_s, description="{}"
    )
    return stored, learned(artifact)
