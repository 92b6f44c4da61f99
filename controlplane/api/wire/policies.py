"""Admission policies on the wire. Called by the resource of policies.

A policy itself is a document as in the fleet file, so that what was read can be put back.
"""

import dataclasses
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from controlplane.api.fleet_document.rendering import plain_policy
from controlplane.api.wire.requests import RequestIn
from controlplane.api.wire.routes import Document
from controlplane.api.wire.values import Reason, Text, Time, Wire, finite, stamp
from controlplane.domain import canonical
from controlplane.domain.admission.asking import Decision, Verdict
from controlplane.domain.admission.policy import KINDS, Mode, Policy, PolicyKind
from controlplane.domain.admission.trial import Effect, Said
from controlplane.domain.errors import Invalid
from controlplane.engine.consumers.policy_reports import PolicyReport

MOST_UNREADABLE = 100
MOST_NUMBER = 2**63
MOST_DRAFT = 1_000_000
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Words = Annotated[Text, Field(max_length=500)]
State = Annotated[dict[str, dict[str, Any]], Field(max_length=100)]


class PolicyOut(Wire):
    """One policy; `document` is what stands in the fleet file."""

    name: str
    kind: PolicyKind
    mode: Mode
    document: Document


class PolicyChangeOut(Wire):
    """What a policy is now; null when it is gone. `generation` is that of the fleet."""

    generation: int
    policy: PolicyOut | None


class ModeIn(Wire):
    """How far a policy is to go, and why."""

    mode: Mode
    reason: Reason = ""


class PresetOut(Wire):
    """A ready-made policy, as a document."""

    name: str
    kind: PolicyKind
    description: str
    document: Document


class DecideIn(RequestIn):
    """A request, and what is known beside it.

    `state` gives facts of single policies by name; the others are asked as at their start. `time`
    is now when it is left out. `policies` is the text of a file with `policies:`, YAML or JSON:
    those in it are asked as if they were published, in place of published ones of the same names.
    """

    region: Annotated[Text, Field(max_length=63)] = ""
    user: Annotated[Text, Field(max_length=255)] = ""
    time: Time | None = None
    state: State = Field(default_factory=dict)
    policies: Annotated[Text, Field(max_length=MOST_DRAFT)] | None = None


class DecisionOut(Wire):
    """What a request is told."""

    verdict: Verdict
    reason: str
    policy: str
    status: int
    retry_after_s: float | None
    service: str
    details: dict[str, Any]

    @classmethod
    def of(cls, decision: Decision) -> "DecisionOut":
        """The wire form of a decision."""
        details = canonical.plain(dict(decision.details))
        return cls(
            verdict=decision.verdict,
            reason=decision.reason,
            policy=decision.policy,
            status=decision.status,
            retry_after_s=None
            if decision.retry_after_s is None
            else finite(decision.retry_after_s),
            service=decision.service,
            details=details if isinstance(details, dict) else {},
        )


class SaidOut(Wire):
    """What one policy says, and what that comes to."""

    policy: str
    kind: PolicyKind
    mode: Mode
    effect: Effect
    decision: DecisionOut


class DecideOut(Wire):
    """What becomes of the request, and what each policy says that covers it, in order.

    `refused` says why the request is answered before any policy is asked, "" when it is not.
    """

    route: str | None
    service: str
    region: str
    refused: str
    decision: DecisionOut
    said: list[SaidOut]


class UnreadableIn(Wire):
    """A policy that a gateway cannot enforce."""

    policy: Annotated[Text, Field(max_length=63)]
    reason: Words


class ReportIn(Wire):
    """What a gateway runs: the digest of the section, as its ETag was."""

    version: Digest
    unreadable: Annotated[list[UnreadableIn], Field(max_length=MOST_UNREADABLE)] = Field(
        default_factory=list
    )


class ReportOut(Wire):
    """What one gateway told last."""

    gateway: str
    group: str
    version: str
    up_to_date: bool
    unreadable: dict[str, str]
    heard: datetime


class Taken(Wire):
    """Answer to a report: the version that is published."""

    version: str


def policy_of(policy: Policy) -> PolicyOut:
    """One policy on the wire."""
    return PolicyOut(
        name=policy.name, kind=policy.kind, mode=policy.mode, document=plain_policy(policy)
    )


def said_of(said: Said) -> SaidOut:
    """What one policy says, on the wire."""
    return SaidOut(
        policy=said.policy.name,
        kind=said.policy.kind,
        mode=said.policy.mode,
        effect=said.effect,
        decision=DecisionOut.of(said.decision),
    )


def report_of(report: PolicyReport, version: str) -> ReportOut:
    """One report on the wire, against the version that is published."""
    return ReportOut(
        gateway=report.gateway,
        group=report.group,
        version=report.version,
        up_to_date=report.version == version,
        unreadable=dict(report.unreadable),
        heard=stamp(report.heard_s),
    )


def facts_of(policies: Mapping[str, Policy], state: Mapping[str, Mapping[str, Any]]) -> Any:
    """Name -> facts of the policy's kind.

    Raises:
        Invalid: `policy_state_invalid`, there is no such policy or fact, or it is another type.
    """
    return {name: _facts(policies.get(name), name, given) for name, given in state.items()}


def _facts(policy: Policy | None, name: str, given: Mapping[str, Any]) -> Any:
    if policy is None:
        raise Invalid("policy_state_invalid", f"state names {name}, which no policy is called")
    kind = KINDS[policy.kind].facts
    known = [field.name for field in dataclasses.fields(kind)]
    if unknown := sorted(set(given) - set(known)):
        raise Invalid(
            "policy_state_invalid",
            f"state of {name} has {unknown[0][:80]!r}; a {policy.kind} has {', '.join(known)}",
        )
    if _largest(given) > MOST_NUMBER:
        raise Invalid(
            "policy_state_invalid", f"state of {name} has a whole number beyond {MOST_NUMBER}"
        )
    try:
        return TypeAdapter(kind).validate_python(dict(given))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise Invalid(
            "policy_state_invalid", f"{place} in the state of {name}: {first['msg']}"
        ) from error


def _largest(given: object) -> int:
    """The largest whole number within JSON, without its sign; deciders make floats of them."""
    if isinstance(given, Mapping):
        return max(map(_largest, given.values()), default=0)
    if isinstance(given, list):
        return max(map(_largest, given), default=0)
    return abs(given) if isinstance(given, int) else 0
