"""Models that went bad: a sound one of the service, changed so that the storage still takes it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from controlplane.domain.features import SCHEMA_DIGEST
from models import storage
from models.artifact import LawRecord, ModelArtifact


def constant(sound: ModelArtifact) -> ModelArtifact:
    """The same answer to every question."""
    return _with_laws(sound, _flat(sound.primary), _flat(sound.primary))


def inverted(sound: ModelArtifact) -> ModelArtifact:
    """A busy centre is taken for an idle one, so its forecast falls where the truth rises."""
    return _with_laws(sound, _upside_down(sound.primary), _upside_down(sound.secondary))


def not_a_number(sound: ModelArtifact) -> ModelArtifact:
    """Numbers so large that no answer is finite."""
    beyond = replace(sound.primary, base_ms=1e308, contention=1e308)
    return _with_laws(sound, beyond, beyond)


KINDS: Mapping[str, Callable[[ModelArtifact], ModelArtifact]] = {
    "constant": constant,
    "inverted": inverted,
    "not_a_number": not_a_number,
}


def upload(kind: str, folder: Path) -> bytes:
    """A bad model as the API takes it, made from the sound one in `folder`."""
    return storage.to_bytes(KINDS[kind](storage.load(folder, SCHEMA_DIGEST)))


def _flat(law: LawRecord) -> LawRecord:
    return replace(law, contention=0.0, wait_ms=0.0)


def _upside_down(law: LawRecord) -> LawRecord:
    return replace(law, idle_cpu=law.full_cpu, full_cpu=law.idle_cpu)


def _with_laws(sound: ModelArtifact, primary: LawRecord, secondary: LawRecord) -> ModelArtifact:
    """Without the residual network, whose small corrections would blur the picture."""
    trusted = {"trusted": True, "reason": ""}
    return replace(
        sound,
        primary=replace(primary, **trusted),
        secondary=replace(secondary, **trusted),
        residuals=(),
        mlp=sound.mlp or sound.residuals[0],
    )
