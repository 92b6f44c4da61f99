"""Receipts: what a sender of samples is told, and what makes a sample no fact.

Made by `intake` and by the API for what nobody could read. Pure.
"""

from dataclasses import dataclass

from controlplane.domain.errors import ControlPlaneError
from controlplane.domain.suspicion.doubt import Suspicion
from controlplane.domain.telemetry import Sample, check
from controlplane.domain.topology import Fleet

# The sender's clock may be ahead of ours by this much.
CLOCK_AHEAD_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleFinding:
    """What is wrong with one sample of a call; `index` counts from 0.

    `subject` is its service and data centre, as far as it names them.
    """

    index: int
    code: str
    message: str
    field: str = ""
    subject: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Answer to one call: how many were taken, which were refused, and which of those taken
    are suspicious, so that they are stored and no decision reads them."""

    accepted: int
    findings: tuple[SampleFinding, ...] = ()
    suspicious: tuple[SampleFinding, ...] = ()


def fault_in(index: int, sample: Sample, fleet: Fleet, now_s: float) -> SampleFinding | None:
    """What makes a sample no fact, or None: what the fleet does not know, and the future."""
    subject = (sample.service, sample.datacenter)
    try:
        check(sample, fleet)
    except ControlPlaneError as error:
        return SampleFinding(
            index=index,
            code=error.code,
            message=error.message,
            field=str(error.details.get("field", "")),
            subject=subject,
        )
    if sample.time_s > now_s + CLOCK_AHEAD_S:
        return SampleFinding(
            index=index,
            code="sample_from_the_future",
            message=f"time is {sample.time_s - now_s:.0f} s ahead of this clock; "
            f"the limit is {CLOCK_AHEAD_S:.0f} s: check the sender's clock",
            field="time",
            subject=subject,
        )
    return None


def suspected(index: int, sample: Sample, suspicion: Suspicion) -> SampleFinding:
    """A doubt as the sender is told of it."""
    return SampleFinding(
        index=index,
        code=suspicion.doubt,
        message=suspicion.message,
        subject=(sample.service, sample.datacenter),
    )
