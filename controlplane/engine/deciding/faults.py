"""Services that a cycle could not decide or build, as observations.

The loop reports each cycle's faults to the findings; one that goes on is one finding, and its
traceback is logged once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.findings import Observation, Severity


class Step(StrEnum):
    """Where a service failed."""

    DECIDE = "decide"
    BUILD = "build"


CODES: Mapping[Step, str] = {Step.DECIDE: "decision_failed", Step.BUILD: "service_not_built"}
HELD: Mapping[Step, str] = {
    Step.DECIDE: "its shares stay as they are",
    Step.BUILD: "what is published of it stays; before its first snapshot it is left out",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One service at one step; its shares, or what is published of it, stay as they are."""

    service: str
    step: Step
    error: Exception


def subject_of(service: str) -> str:
    """A service as the subject of a finding."""
    return f"service/{service}"


def observed(fault: Fault) -> Observation:
    """The fault as what is wrong with its service."""
    return Observation(
        code=CODES[fault.step],
        subject=subject_of(fault.service),
        message=f"{type(fault.error).__name__}: {fault.error}",
        held=HELD[fault.step],
        severity=Severity.CRITICAL,
    )
