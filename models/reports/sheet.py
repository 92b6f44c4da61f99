"""The sheet of a version: everything that a page, a card or a comparison shows of it, as JSON.

Made from the artifact and, where there is one, its report. A version of before reports has its
loss, laws and scores all the same, and `missing` says what it lacks and how to get it.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from models.artifact import Json, ModelArtifact
from models.reports.report import Report

# Points of a loss curve that a chart can show.
MOST_EPOCHS = 300

NO_REPORT = (
    "This version was registered without a report: what is measured on its rows is missing. "
    "`python -m training report DIR --data FILE` measures it again on the data set it was "
    "trained on."
)

NO_REPORT_OF_MANY = (
    "Reports are measured for versions of two data centers, which have networks. This one is a "
    "queue law for each center: its laws, scores and provenance are all there is."
)


def sheet(artifact: ModelArtifact, report: Report | None, missing: Sequence[str] = ()) -> Json:
    """The sheet; `missing` says why a report that should be there is not."""
    return {
        "model": {
            "digest": artifact.digest,
            "service": artifact.service,
            "kind": artifact.kind,
            "created_at_s": artifact.created_at_s,
            "environment": dict(artifact.environment),
        },
        "provenance": dataclasses.asdict(artifact.provenance),
        "laws": _laws(artifact),
        "support": dataclasses.asdict(artifact.support),
        "profile": list(artifact.profile),
        "networks": {"mlp": int(artifact.mlp is not None), "residual": len(artifact.residuals)},
        "scores": dict(artifact.scores),
        "best_epoch": dict(artifact.best_epoch),
        "examination": [dataclasses.asdict(check) for check in artifact.examination],
        "losses": {name: _loss(curve) for name, curve in sorted(artifact.losses.items())},
        "report": None if report is None else dataclasses.asdict(report),
        "missing": list(missing) or ([] if report is not None else [_lacking(artifact)]),
    }


def _laws(artifact: ModelArtifact) -> Json:
    names = artifact.centers or ("primary", "secondary")
    laws = zip(names, artifact.laws, strict=True)
    return {name: dataclasses.asdict(law) for name, law in laws}


def _lacking(artifact: ModelArtifact) -> str:
    return NO_REPORT_OF_MANY if artifact.centers else NO_REPORT


def _loss(curve: NDArray[np.float64]) -> Json:
    """Loss by 1-based epoch; of long runs every n-th, and the last."""
    epochs = curve.shape[1]
    step = -(-epochs // MOST_EPOCHS)
    shown = sorted({*range(0, epochs, step), epochs - 1})
    return {
        "epoch": [epoch + 1 for epoch in shown],
        "training": [float(curve[0, epoch]) for epoch in shown],
        "validation": [float(curve[1, epoch]) for epoch in shown],
    }
