"""One cycle, without waiting or storing: facts in, decisions out.

Pure functions over frozen values, called in the thread of a tick, and by a replay. What is decided
here depends on its arguments alone.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest

from controlplane.domain.decisions import Decision, Inputs, RegionSplit, Trigger
from controlplane.domain.findings import Observation
from controlplane.domain.guardrails.envelope import judge
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.regions import limits_of
from controlplane.domain.guardrails.reserves import mustered
from controlplane.domain.guardrails.state import Concession, GuardState, Verdict
from controlplane.domain.guardrails.trial import Trial
from controlplane.domain.services import Service, StrategyName
from controlplane.domain.strategies.demand import located, region_rows
from controlplane.domain.strategies.regions import SourceRegion, in_force
from controlplane.domain.strategies.registry import Strategy, propose
from controlplane.domain.strategies.situation import (
    ACTIVE_ROLES,
    Center,
    LearnedModel,
    Proposal,
    SharedPool,
    Shares,
    Situation,
)
from controlplane.domain.telemetry import ServiceWindow, of_centers, shortened
from controlplane.domain.topology import EVERYWHERE, Fleet, RegionShares, resolved
from controlplane.engine.cadence import Cadence

# Beyond the last cycle, a decision reads this many periods more, or this many samples of a data
# centre that has been silent.
READ_PERIODS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything that one cycle reads.

    Attributes:
        generation: of the fleet.
        shares: service -> data centre -> share in force, from the published snapshot, so that a
            crash between publishing and recording loses nothing.
        states: service -> what the guards remember.
        suspicions: service -> what is suspicious about its metrics; absent is nothing.
        shadows: service -> the model on trial; `trials`: how far it is.
        shared: service -> what others put on the pools of its centres; absent is nothing shared.
        concessions: service -> what the guard over all services allows it; absent is everything.
        regions: service -> splits in force by source region; absent where none are published.
    """

    fleet: Fleet
    windows: Mapping[str, ServiceWindow]
    models: Mapping[str, LearnedModel]
    shares: Mapping[str, Mapping[str, float]]
    states: Mapping[str, GuardState]
    cadence: Cadence
    limits: EnvelopeLimits
    now_s: float
    generation: int = 0
    suspicions: Mapping[str, tuple[Observation, ...]] = field(default_factory=dict)
    shadows: Mapping[str, LearnedModel] = field(default_factory=dict)
    trials: Mapping[str, Trial] = field(default_factory=dict)
    shared: Mapping[str, tuple[SharedPool | None, ...]] = field(default_factory=dict)
    concessions: Mapping[str, Concession] = field(default_factory=dict)
    regions: Mapping[str, RegionShares] = field(default_factory=dict)


def decide(facts: Facts, service: Service, trigger: Trigger, ask: Strategy = propose) -> Decision:
    """Propose, judge, and record one service's split."""
    situation = situate(facts, service)
    state = facts.states.get(service.name, GuardState())
    proposal = ask(situation)
    concession = facts.concessions.get(service.name)
    limits = limits_of(service, facts.limits)
    verdict = judge(proposal, situation, state, limits, concession)
    return Decision(
        id=f"{service.name}@{round(facts.now_s * 1000)}",
        time_s=facts.now_s,
        service=service.name,
        trigger=trigger,
        strategy=proposal.strategy,
        centers=tuple(center.name for center in situation.centers),
        applied=situation.applied,
        proposed=proposal.shares,
        decided=verdict.shares,
        outcome=verdict.outcome,
        curve=proposal.curve,
        notes=(*proposal.notes, *verdict.notes),
        samples=tuple(chain.from_iterable(situation.window.samples.values())),
        state=verdict.state,
        model=situation.model.digest if situation.model is not None else "",
        inputs=Inputs(
            generation=facts.generation,
            state=state,
            limits=limits,
            period_s=situation.period_s,
            cycle_s=situation.cycle_s,
            day_s=situation.day_s,
            suspicions=situation.suspicions,
            shared=facts.shared.get(service.name, ()),
            concession=concession,
        ),
        spreads=proposal.spreads,
        center_curves=proposal.center_curves,
        learned=proposal.learned,
        urgent=proposal.urgent,
        support=_support(situation.model),
        regions=_region_splits(situation, proposal, verdict),
    )


def _support(model: LearnedModel | None) -> tuple[float, ...]:
    return () if model is None else (model.ratio_low, model.ratio_high)


def situate(facts: Facts, service: Service) -> Situation:
    """The situation of one service: what its strategy and its guards will read.

    No sample that it leaves out is read by them, so what is recorded can be replayed.
    """
    situation = _whole(facts, service)
    situation = located(situation, facts.fleet.gateways, _region_shares(facts, service))
    return mustered(situation, limits_of(service, facts.limits))


def rows_in_force(facts: Facts, service: Service) -> tuple[SourceRegion, ...]:
    """The splits of a `regional` service by source region; how much each sends is left out."""
    return region_rows(_whole(facts, service), _region_shares(facts, service))


def _whole(facts: Facts, service: Service) -> Situation:
    """The situation before it is known where traffic comes from, and who bears it."""
    own = {cluster.datacenter for cluster in service.centers}
    window = facts.windows.get(service.name, ServiceWindow(service=service.name))
    window = of_centers(window, own)
    since_s = facts.now_s - facts.cadence.cycle_s - READ_PERIODS * facts.cadence.period_s
    centers = {center.name: center for center in facts.fleet.datacenters}
    model = facts.models.get(service.name)
    state = facts.states.get(service.name, GuardState())
    in_service = model is not None and model.digest != state.demoted_model
    return Situation(
        service=service,
        centers=tuple(
            Center(datacenter=centers[cluster.datacenter], cluster=cluster, shared=shared)
            for cluster, shared in zip_longest(
                resolved(facts.fleet, service).clusters, facts.shared.get(service.name, ())
            )
        ),
        window=shortened(window, since_s, READ_PERIODS),
        applied=applied_shares(facts.fleet, service, _whole_split(facts, service)),
        now_s=facts.now_s,
        period_s=facts.cadence.period_s,
        cycle_s=facts.cadence.cycle_s,
        day_s=facts.cadence.day_s,
        model=model if in_service else None,
        demoted_model="" if model is None or in_service else state.demoted_model,
        suspicions=facts.suspicions.get(service.name, ()),
        moved_s=max(state.changes_s, default=-math.inf),
    )


def shares_in_force(facts: Facts, service: Service) -> Shares:
    """What data centres bear now, in the order of the service's data centres."""
    if service.strategy is StrategyName.REGIONAL:
        return situate(facts, service).applied
    return applied_shares(facts.fleet, service, _whole_split(facts, service))


def _whole_split(facts: Facts, service: Service) -> Mapping[str, float]:
    """The split in force of all regions; none where each has its own."""
    if service.strategy is StrategyName.REGIONAL:
        return {}
    return facts.shares.get(service.name, {})


def _region_shares(facts: Facts, service: Service) -> RegionShares:
    """The splits in force by region; one for all where the service had another strategy."""
    whole = facts.shares.get(service.name, {})
    return facts.regions.get(service.name, {EVERYWHERE: whole} if whole else {})


def _region_splits(
    situation: Situation, proposal: Proposal, verdict: Verdict
) -> tuple[RegionSplit, ...]:
    proposed = proposal.regions or in_force(situation.regions)
    return tuple(
        RegionSplit(
            region=region.name,
            weight=region.weight,
            home=region.home,
            applied=region.shares,
            proposed=row,
            decided=decided,
        )
        for region, row, decided in zip(situation.regions, proposed, verdict.regions, strict=True)
    )


def applied_shares(fleet: Fleet, service: Service, in_force: Mapping[str, float]) -> Shares:
    """Shares in the order of the service's data centres; they sum to 1 (all 0 without endpoints).

    Those in force, as far as their data centres are still declared; else the declared static
    shares; else by capacity, of the active data centres if there are any. A data centre without
    an endpoint gets nothing.
    """
    clusters = resolved(fleet, service).clusters
    usable = {cluster.datacenter for cluster in clusters if cluster.endpoints}
    active = {center.name for center in fleet.datacenters if center.role in ACTIVE_ROLES}
    every = {cluster.datacenter: cluster.capacity_rps for cluster in clusters}
    by_capacity = {name: capacity for name, capacity in every.items() if name in active}
    for source in (in_force, dict(service.static_shares), by_capacity, every):
        shares = [
            source.get(cluster.datacenter, 0.0) if cluster.datacenter in usable else 0.0
            for cluster in clusters
        ]
        if (total := sum(shares)) > 0:
            return tuple(share / total for share in shares)
    return tuple(0.0 for _ in clusters)


def stamped(decisions: Iterable[Decision], revision: int) -> tuple[Decision, ...]:
    """The decisions with the revision that carries them."""
    return tuple(replace(decision, revision=revision) for decision in decisions)
