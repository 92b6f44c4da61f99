"""Proposals and situations for the tests of the guards."""

from dataclasses import replace

from controlplane.domain.guardrails.envelope import judge
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.state import GuardState, Verdict
from controlplane.domain.strategies.situation import CurvePoint, Proposal, Shares, Situation
from controlplane.domain.topology import Role
from tests.domain.two_centers import Load, centers, history, situation

LIMITS = EnvelopeLimits()
NEW = GuardState()


def rule(*shares: float, urgent: bool = False) -> Proposal:
    return Proposal(strategy="rule", shares=shares, urgent=urgent)


def valley(best: float, depth: float = 100.0, learned: bool = False) -> Proposal:
    """A curve in ms with its bottom at `best`."""
    curve = tuple(
        CurvePoint(ratio=r / 100, response_time_ms=50.0 + depth * abs(r / 100 - best))
        for r in range(20, 81)
    )
    return Proposal(strategy="model", shares=(best, 1 - best), curve=curve, learned=learned)


def run(
    proposal: Proposal,
    facts: Situation | None = None,
    state: GuardState = NEW,
    limits: EnvelopeLimits = LIMITS,
) -> Verdict:
    return judge(proposal, facts or situation(load=Load(total_rps=60.0)), state, limits)


def many(roles: tuple[Role, ...], applied: Shares, total_rps: float = 50.0) -> Situation:
    capacities = (60.0, 40.0, 30.0, 30.0)[: len(roles)]
    load = Load(total_rps=total_rps, capacity_rps=capacities, own=(0.0,) * len(roles))
    facts = situation()
    return replace(
        facts,
        centers=centers(roles, capacities),
        applied=applied,
        window=replace(facts.window, samples=_samples(load, applied)),
    )


def _samples(load: Load, applied: Shares) -> dict[str, tuple[object, ...]]:
    two = history(Load(total_rps=50.0), (0.5, 0.5))
    names = ("alpha", "beta", "gamma", "delta")[: len(applied)]
    return {
        name: tuple(
            replace(
                sample,
                datacenter=name,
                request_rate_rps=load.total_rps * share,
                cpu_avg=min(load.total_rps * share / capacity, 1.0),
            )
            for sample in two.samples["alpha"]
        )
        for name, share, capacity in zip(names, applied, load.capacity_rps, strict=True)
    }
