"""GET /v1/decisions/{id}/explanation and /replay: a recorded decision made again."""

from collections.abc import Mapping
from datetime import datetime

from fastapi import APIRouter

from controlplane.api.dependencies import Services, Viewer
from controlplane.api.wire.values import Wire, finite, stamp
from controlplane.domain.guardrails.state import Outcome
from controlplane.engine.deciding.explanation import Part, Step, explain
from controlplane.engine.deciding.replay import Origin, Replay

router = APIRouter(prefix="/v1", tags=["decisions"])


class ReplayOut(Wire):
    """A decision made again.

    `origin` says whether the strategy was asked again or its recorded proposal was judged (then
    `reason` says why, unless it was asked for). `difference` is the largest one of a share, or
    relative one of a prediction; null when the two have another shape or outcome. `agrees`
    allows for the arithmetic of another machine, 1e-6.
    """

    id: str
    time: datetime
    service: str
    origin: Origin
    reason: str
    identical: bool
    agrees: bool
    difference: float | None
    outcome: Outcome
    proposed: Mapping[str, float]
    decided: Mapping[str, float]


class StepOut(Wire):
    """One line of the story; `shares` are those after it, by data centre."""

    part: Part
    name: str
    says: str
    shares: Mapping[str, float]
    codes: list[str]


class ExplanationOut(Wire):
    """A decision in words, as a replay of it tells."""

    replay: ReplayOut
    steps: list[StepOut]


@router.get("/decisions/{decision_id}/replay")
async def replay_decision(
    services: Services,
    _caller: Viewer,
    decision_id: str,
    origin: Origin = Origin.STRATEGY,
) -> ReplayOut:
    """Make a decision again and compare; `origin=record` judges the recorded proposal."""
    return _replay(await services.replays.again(await services.decision(decision_id), origin))


@router.get("/decisions/{decision_id}/explanation")
async def explain_decision(services: Services, _caller: Viewer, decision_id: str) -> ExplanationOut:
    """What was known, what was proposed, what each guard did, and what came of it."""
    replay = await services.replays.again(await services.decision(decision_id))
    steps = [_step(step, replay.decision.centers) for step in explain(replay)]
    return ExplanationOut(replay=_replay(replay), steps=steps)


def _replay(replay: Replay) -> ReplayOut:
    decision = replay.decision
    return ReplayOut(
        id=decision.id,
        time=stamp(decision.time_s),
        service=decision.service,
        origin=replay.origin,
        reason=replay.reason,
        identical=replay.identical,
        agrees=replay.agrees,
        difference=finite(replay.difference),
        outcome=replay.verdict.outcome,
        proposed=dict(zip(decision.centers, replay.proposal.shares, strict=False)),
        decided=dict(zip(decision.centers, replay.verdict.shares, strict=False)),
    )


def _step(step: Step, centers: tuple[str, ...]) -> StepOut:
    return StepOut(
        part=step.part,
        name=step.name,
        says=step.says,
        shares=dict(zip(centers, step.shares, strict=False)),
        codes=list(step.codes),
    )
