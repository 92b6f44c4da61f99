"""A dry run: what policies would say of one request, without any effect.

Called by `policies:decide`. Asks the pure `decide` of each kind in the order in which gateways ask;
what has happened before is given, or nothing has.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from controlplane.domain.admission.asking import ADMITTED, Asked, Decision, Verdict
from controlplane.domain.admission.policy import KINDS, Mode, Policy, in_order


class Effect(StrEnum):
    """What a policy's word comes to.

    `ADMITS` lets it on to the next; `DECIDES` is the first that does not; `OBSERVES` would not, and
    only counts; `BEHIND` would be asked if no earlier one had decided; `OFF` is not asked.
    """

    ADMITS = "admits"
    DECIDES = "decides"
    OBSERVES = "observes"
    BEHIND = "behind"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One policy that covers the request, and what it says."""

    policy: Policy
    decision: Decision
    effect: Effect


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What becomes of the request, and what each policy that covers it says, in order."""

    decision: Decision
    said: tuple[Said, ...]


def trial(policies: Iterable[Policy], asked: Asked, facts: Mapping[str, Any]) -> Trial:
    """Ask every policy that covers a request.

    Args:
        facts: name of a policy -> facts of its kind; the others have theirs as at the start.
    """
    outcome = ADMITTED
    said: list[Said] = []
    for policy in in_order(policies):
        if not policy.covers(asked):
            continue
        rules = KINDS[policy.kind]
        known = facts[policy.name] if policy.name in facts else rules.facts()
        decision = replace(rules.decide(policy.spec, asked, known), policy=policy.name)
        decided = outcome.verdict is not Verdict.ADMIT
        effect = _effect(policy.mode, decision, decided=decided)
        if effect is Effect.DECIDES:
            outcome = decision
        said.append(Said(policy=policy, decision=decision, effect=effect))
    return Trial(decision=outcome, said=tuple(said))


def _effect(mode: Mode, decision: Decision, *, decided: bool) -> Effect:
    if mode is Mode.OFF:
        return Effect.OFF
    if decided:
        return Effect.BEHIND
    if decision.verdict is Verdict.ADMIT:
        return Effect.ADMITS
    return Effect.DECIDES if mode is Mode.ENFORCE else Effect.OBSERVES
