"""Make a decision again from what it recorded, and compare.

The strategy is asked again with the model of that time; where the model is gone, what it
proposed is taken from the record. Either way every guard judges again. On the machine that
decided, the result is the same bit for bit; elsewhere the model's arithmetic may differ by 1e-6.
Called by the API; reads the stores only.
"""

import asyncio
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from controlplane.domain.decisions import Decision, Inputs
from controlplane.domain.errors import Invalid, NotFound
from controlplane.domain.guardrails.envelope import Passage, judge, passages
from controlplane.domain.guardrails.state import Verdict
from controlplane.domain.strategies.regions import SourceRegion
from controlplane.domain.strategies.situation import (
    LearnedModel,
    Proposal,
    Situation,
)
from controlplane.domain.telemetry import Sample, ServiceWindow
from controlplane.domain.topology import Fleet, RegionShares
from controlplane.engine.cadence import Cadence
from controlplane.engine.deciding.cycle import Facts, situate
from controlplane.engine.deciding.shadow import answered
from controlplane.ports.learning import ModelRegistry
from controlplane.ports.stores import FleetStore

# What the arithmetic of another machine may change in a share, or relatively in a prediction.
TOLERANCE = 1e-6


class Origin(StrEnum):
    """Where the proposal that was judged again came from."""

    STRATEGY = "strategy"
    RECORD = "record"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A decision and what became of it this time.

    Attributes:
        passages: what each guard did, in order.
        difference: largest difference of a share, or relative one of a prediction; infinite when
            the two have another shape or outcome.
        reason: why the proposal is the recorded one; "" when the strategy was asked.
    """

    decision: Decision
    origin: Origin
    proposal: Proposal
    verdict: Verdict
    passages: tuple[Passage, ...]
    difference: float
    reason: str = ""

    @property
    def identical(self) -> bool:
        """Whether it is the same bit for bit."""
        return self.difference == 0

    @property
    def agrees(self) -> bool:
        """Whether it is the same but for another machine's arithmetic."""
        return self.difference <= TOLERANCE


class Replays:
    """Makes recorded decisions again, by the fleet and the model of that time."""

    def __init__(self, fleets: FleetStore, models: ModelRegistry) -> None:
        self._fleets = fleets
        self._models = models

    async def again(self, decision: Decision, origin: Origin = Origin.STRATEGY) -> Replay:
        """Make one decision again.

        Args:
            origin: `RECORD` judges the recorded proposal even when its model is there.

        Raises:
            NotFound: its fleet is no longer stored.
            Invalid: the decision is of before inputs were recorded.
            Retryable: the store is away.
        """
        inputs = decision.inputs
        if inputs is None:
            raise Invalid(
                "decision_without_inputs",
                f"decision {decision.id} is of before inputs were recorded: it can be read only",
            )
        fleet = await self._fleets.at(inputs.generation)
        model, reason = await self._model(decision.model or inputs.state.demoted_model)
        if reason:
            origin = Origin.RECORD
        made = await asyncio.to_thread(
            replayed, decision, situation_of(decision, inputs, fleet, model), origin
        )
        return replace(made, reason=reason)

    async def _model(self, digest: str) -> tuple[LearnedModel | None, str]:
        """The model, and why it cannot be had."""
        if not digest:
            return None, ""
        try:
            return await self._models.by_digest(digest), ""
        except (NotFound, Invalid) as error:
            return None, error.message


def situation_of(
    decision: Decision, inputs: Inputs, fleet: Fleet, model: LearnedModel | None
) -> Situation:
    """What the strategy and the guards read at that time."""
    service = fleet.service(decision.service)
    by_center: dict[str, list[Sample]] = {}
    for sample in decision.samples:
        by_center.setdefault(sample.datacenter, []).append(sample)
    samples = {name: tuple(own) for name, own in by_center.items()}
    facts = Facts(
        fleet=fleet,
        windows={service.name: ServiceWindow(service=service.name, samples=samples)},
        models={} if model is None else {service.name: model},
        shares={service.name: dict(zip(decision.centers, decision.applied, strict=True))},
        states={service.name: inputs.state},
        cadence=Cadence(period_s=inputs.period_s, cycle_s=inputs.cycle_s, day_s=inputs.day_s),
        limits=inputs.limits,
        now_s=decision.time_s,
        generation=inputs.generation,
        suspicions={service.name: inputs.suspicions},
        shared={service.name: inputs.shared},
        regions={service.name: _applied_rows(decision)} if decision.regions else {},
    )
    # As recorded, not as weights say it: those are rounded.
    regions = tuple(
        SourceRegion(name=one.region, weight=one.weight, home=one.home, shares=one.applied)
        for one in decision.regions
    )
    return replace(situate(facts, service), applied=decision.applied, regions=regions)


def _applied_rows(decision: Decision) -> RegionShares:
    return {
        one.region: dict(zip(decision.centers, one.applied, strict=True))
        for one in decision.regions
    }


def replayed(decision: Decision, situation: Situation, origin: Origin) -> Replay:
    """Propose (or take the recorded proposal), judge, and compare."""
    assert decision.inputs is not None
    state, limits = decision.inputs.state, decision.inputs.limits
    proposal = recorded(decision) if origin is Origin.RECORD else answered(situation)
    verdict = judge(proposal, situation, state, limits, decision.inputs.concession)
    return Replay(
        decision=decision,
        origin=origin,
        proposal=proposal,
        verdict=verdict,
        passages=passages(proposal, situation, state, limits),
        difference=max(_differences(decision, proposal, verdict)),
    )


def recorded(decision: Decision) -> Proposal:
    """What the strategy proposed at that time, without its notes."""
    return Proposal(
        strategy=decision.strategy,
        shares=decision.proposed,
        curve=decision.curve,
        spreads=decision.spreads,
        center_curves=decision.center_curves,
        learned=decision.learned,
        urgent=decision.urgent,
        regions=tuple(region.proposed for region in decision.regions),
    )


def _differences(decision: Decision, proposal: Proposal, verdict: Verdict) -> Iterator[float]:
    yield 0.0 if verdict.outcome is decision.outcome else math.inf
    yield 0.0 if proposal.strategy == decision.strategy else math.inf
    yield _largest(decision.proposed, proposal.shares)
    yield _largest(decision.decided, verdict.shares)
    for region, proposed, decided in zip(
        decision.regions,
        proposal.regions or [one.applied for one in decision.regions],
        verdict.regions,
        strict=True,
    ):
        yield _largest(region.proposed, proposed)
        yield _largest(region.decided, decided)
    before, again = _predictions(decision), _predictions(proposal)
    scale = max(map(abs, before), default=1.0) or 1.0
    yield _largest([value / scale for value in before], [value / scale for value in again])


def _predictions(said: Decision | Proposal) -> list[float]:
    """All finite ones of a curve, or of the curves of all data centres."""
    values = [point.response_time_ms for point in said.curve]
    values += [value for curve in said.center_curves for value in curve.response_time_ms]
    return [value for value in values if math.isfinite(value)]


def _largest(one: tuple[float, ...] | list[float], other: tuple[float, ...] | list[float]) -> float:
    if len(one) != len(other):
        return math.inf
    return max((abs(a - b) for a, b in zip(one, other, strict=True)), default=0.0)
