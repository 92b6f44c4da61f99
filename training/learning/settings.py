"""Named training settings; the name is stored in each version as its kind.

`paper` is the published algorithm (SOURCES.md S4) and is never changed: every variation has
another name. The digest of the settings is part of a version's provenance.
"""

import dataclasses
import hashlib
import json
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType


class Target(StrEnum):
    """What is done to the target before training."""

    UNSCALED = "unscaled"
    Z_SCORED = "z_scored"


class Keep(StrEnum):
    """Which epoch's weights become the model."""

    LAST = "last"
    BEST = "best"


class HeldOut(StrEnum):
    """Which rows are never trained on, but judged."""

    TAIL = "tail"
    # Every n-th row: in a sweep the newest rows are its last ratios only.
    SPREAD = "spread"


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSettings:
    """How one network is trained: Adam on mean squared error, z-scored inputs.

    Attributes:
        epochs: passes over the training rows; batch: rows per step.
        learning_rate, weight_decay: of Adam (decoupled decay, per step).
        target, keep, held_out: see there; the best epoch is recorded in either case.
        validation_share: part of the rows, 0..1, that is held out.
        members: networks that are trained; several differ by their seed and by the days that they
            are drawn (`training.learning.ensemble`).
    """

    epochs: int
    batch: int = 32
    learning_rate: float = 0.001
    weight_decay: float = 0.0
    target: Target = Target.Z_SCORED
    keep: Keep = Keep.BEST
    held_out: HeldOut = HeldOut.TAIL
    validation_share: float = 0.1
    members: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """What a version consists of; a network without settings is not trained."""

    name: str
    mlp: NetworkSettings | None
    residual: NetworkSettings | None

    @property
    def epochs(self) -> int:
        """Epochs of all networks together, for progress."""
        return sum(network.epochs for network in (self.mlp, self.residual) if network is not None)

    def digest(self) -> str:
        """sha256 over every field."""
        content = json.dumps(dataclasses.asdict(self), sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()


MEMBERS = 5
# A residual is small and mostly noise: few epochs, some decay, the best epoch.
_RESIDUAL = NetworkSettings(epochs=40, weight_decay=1e-4, members=MEMBERS)
# A few hundred rows: smaller batches make up for the few steps of an epoch.
_SMALL = NetworkSettings(
    epochs=150, batch=16, weight_decay=1e-3, held_out=HeldOut.SPREAD, validation_share=0.2
)

SETTINGS = MappingProxyType(
    {
        "paper": TrainingSettings(
            name="paper",
            mlp=NetworkSettings(
                epochs=300,
                batch=32,
                learning_rate=0.001,
                target=Target.UNSCALED,
                keep=Keep.LAST,
            ),
            residual=_RESIDUAL,
        ),
        "residual": TrainingSettings(name="residual", mlp=None, residual=_RESIDUAL),
        "quick": TrainingSettings(
            name="quick", mlp=_SMALL, residual=replace(_SMALL, members=MEMBERS)
        ),
    }
)
