"""Guards on splits by source region: what they need beside those on the sum.

Every guard judges the sum over the regions, which is what data centres bear. Here are the limits
that mean something else for a `regional` service, the step of a single region, and what becomes
of the rows when the sum was trimmed.
"""

from dataclasses import replace

from controlplane.domain.guardrails.bounds import is_split, reach
from controlplane.domain.guardrails.draft import NEGLIGIBLE, Course, Draft, retargeted
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.state import GuardState
from controlplane.domain.services import Service, StrategyName
from controlplane.domain.strategies.regional import ROUNDED
from controlplane.domain.strategies.regions import (
    Rows,
    between,
    carried,
    farthest,
    followed,
    in_force,
    summed,
)
from controlplane.domain.strategies.situation import Proposal, Situation

# A century: a regional service is never ramped on old metrics.
NEVER_S = 3e9


def limits_of(service: Service, limits: EnvelopeLimits) -> EnvelopeLimits:
    """The limits as they hold for a service.

    Home may be all of a region's traffic, so a share of the sum has no bounds, and a centre whose
    region sends nothing may be without traffic. What went elsewhere was too much for its home
    when that was last seen: on old metrics it stays there and is not ramped back.
    """
    if service.strategy is not StrategyName.REGIONAL:
        return limits
    return replace(
        limits,
        low=0.0,
        low_of_many=0.0,
        high=1.0,
        ramp_after_s=NEVER_S,
        evacuations=len(service.centers),
    )


def within_region_step(
    draft: Draft, situation: Situation, state: GuardState, limits: EnvelopeLimits
) -> Draft:
    """Change no share of a source region by more than a cycle's step."""
    rows = draft.proposal.regions
    if draft.course is not Course.MOVE or not rows:
        return draft
    far, step = farthest(in_force(situation.regions), rows), reach(draft, limits)
    # A rest that counts as none by the time of the next cycle would stay away for ever.
    if far <= step + ROUNDED:
        return draft
    trimmed = between(in_force(situation.regions), rows, step / far)
    shares = summed(situation.regions, trimmed)
    proposal = replace(draft.proposal, regions=trimmed, shares=shares)
    return retargeted(
        replace(draft, proposal=proposal),
        shares,
        "region_step_limited",
        f"{far:.3f} of a region's traffic is more than a step of {step:g}",
    )


def rows_formed(proposal: Proposal, situation: Situation) -> bool:
    """Whether a proposal has a proper split for each source region."""
    count = len(situation.centers)
    return len(proposal.regions) == len(situation.regions) and all(
        is_split(row, count) for row in proposal.regions
    )


def rows_stay(rows: Rows, situation: Situation) -> bool:
    """Whether these rows are those in force, as far as can be published."""
    return farthest(in_force(situation.regions), rows) < NEGLIGIBLE


def rows_of(draft: Draft, situation: Situation) -> Rows:
    """The rows that go out with a draft that moves; () without regions."""
    now = in_force(situation.regions)
    if not now:
        return ()
    # Relief goes its own way, whatever was proposed.
    if draft.course is Course.RELIEF or not rows_formed(draft.proposal, situation):
        return carried(now, situation.applied, draft.target)
    sums = (situation.applied, draft.proposal.shares, draft.target)
    return followed(now, sums, draft.proposal.regions)
