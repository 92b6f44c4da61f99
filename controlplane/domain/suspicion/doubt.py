"""What is suspected, and how it reads as a finding."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.findings import Observation
from controlplane.domain.telemetry import Sample


class Doubt(StrEnum):
    """What may be wrong with the metrics of a service; the value is the finding's code."""

    STOPPED = "metrics_stopped"
    REFUSED = "metrics_refused"
    FROZEN = "metrics_frozen"
    JUMPED = "metrics_jumped"
    SWAPPED = "metrics_swapped"
    SHARES_SWAPPED = "shares_swapped"


HELD: Mapping[Doubt, str] = {
    Doubt.STOPPED: "the weights of the service, until it ramps to its static shares",
    Doubt.REFUSED: "the weights of the service; the sample was not taken",
    Doubt.FROZEN: "the weights of the service; the samples are stored, no decision reads them",
    Doubt.JUMPED: "the weights of the service; the samples are stored, no decision reads them",
    Doubt.SWAPPED: "the weights of the service; the samples are stored, no decision reads them",
    Doubt.SHARES_SWAPPED: "the weights of the service",
}
# What can be taken for true on an operator's word; silence and no number cannot.
FORCIBLE = frozenset({Doubt.FROZEN, Doubt.JUMPED, Doubt.SWAPPED, Doubt.SHARES_SWAPPED})
# Who tells the finding puts its id in this place.
ID = "ID"
FORCE = f"signalbox findings force {ID} --reason TEXT takes the readings for true"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """Why input of a service is not taken for true.

    Attributes:
        centers: the data centres concerned, sorted.
        also: samples that were trusted before and no longer are.
    """

    doubt: Doubt
    centers: tuple[str, ...]
    message: str
    also: tuple[Sample, ...] = ()


def observed(service: str, suspicion: Suspicion) -> Observation:
    """The suspicion as a finding: of one data centre of the service, or of the service."""
    subject = f"service/{service}"
    if len(suspicion.centers) == 1:
        subject = f"{subject} datacenter/{suspicion.centers[0]}"
    return Observation(
        code=suspicion.doubt,
        subject=subject,
        message=suspicion.message,
        held=HELD[suspicion.doubt],
        force=FORCE if suspicion.doubt in FORCIBLE else "",
    )
