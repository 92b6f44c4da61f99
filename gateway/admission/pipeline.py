"""Asks the policies that cover a request, in the order of kinds, and joins what they say.

Used by forward-auth and by the agent's own proxy. The first verdict that is not ADMIT wins. A
policy that observes is asked like the others, counted and logged, and changes nothing. Must never
fail: what goes wrong inside a policy costs that policy its say, not the request.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from controlplane.domain.admission.agent_door import WhenAway
from controlplane.domain.admission.asking import Asked, Verdict
from controlplane.domain.admission.policy import Mode, Policy, PolicyKind, in_order
from controlplane.domain.errors import Retryable
from gateway.admission.away import Unmade, without_judgment, without_state
from gateway.admission.enforcing import Enforcer, Outcome, Ruling
from gateway.admission.first_step import Ready, begun
from gateway.admission.joining import Joined
from gateway.admission.registry import Maker
from gateway.admission.surroundings import Surroundings
from gateway.admission.watching import Said, Watcher

log = structlog.get_logger()
# Whose enforcer is another program: `python -m gateway divert`.
ELSEWHERE = frozenset({PolicyKind.REGIONAL_OVERFLOW})
MOST_PLACES = 10_000
NOT_SENT = Outcome(status=0, took_s=0.0, sent=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A policy and who enforces it."""

    policy: Policy
    kind: PolicyKind
    enforcer: Enforcer

    @property
    def made(self) -> bool:
        """Whether it is judged, and not only refused because it cannot be."""
        return not isinstance(self.enforcer, Unmade)


class Pipeline:
    """All policies of one agent.

    Args:
        makers: of enforcers, by kind.
        watcher: is told of each decision.
    """

    def __init__(
        self, makers: Mapping[PolicyKind, Maker], surroundings: Surroundings, watcher: Watcher
    ) -> None:
        self._makers = makers
        self._surroundings = surroundings
        self._watcher = watcher
        self._placed: tuple[Placed, ...] = ()
        # Which of them cover a route, service and region: a thousand are not gone through for each
        # request.
        self._covering: dict[tuple[str, str, str], tuple[Placed, ...]] = {}
        # Policy -> why it is not enforced here, of those taken last.
        self.not_enforced: dict[str, str] = {}
        # Headers that policies in force set for services under names of their own, in lower case:
        # what a client sends under these counts nowhere.
        self.told: frozenset[str] = frozenset()

    @property
    def policies(self) -> tuple[Policy, ...]:
        """What is enforced now, in the order in which it is asked."""
        return tuple(each.policy for each in self._placed)

    async def take(self, policies: Sequence[Policy]) -> None:
        """Enforce these from now on; a policy that has not changed keeps its enforcer."""
        before = {each.policy.name: each for each in self._placed}
        placed: list[Placed] = []
        self.not_enforced = {}
        for policy in in_order(each for each in policies if each.mode is not Mode.OFF):
            kept = before.get(policy.name)
            if kept is not None and kept.policy == policy and kept.made:
                placed.append(before.pop(policy.name))
            elif (made := self._made(policy)) is not None:
                placed.append(made)
        self._placed = tuple(placed)
        self._covering = {}
        self.told = frozenset(_told(placed))
        for old in before.values():
            await _closed(old)

    async def rule(self, asked: Asked, budget_s: float | None = None) -> Ruling:
        """What becomes of a request.

        Args:
            budget_s: time for all policies together; one that would need more falls back. None is
                as long as they take.
        """
        joined = Joined()
        try:
            return await self._ruled(joined, asked, _ends_s(budget_s))
        except asyncio.CancelledError:
            # The client has gone: what was admitted so far must not be held for ever.
            joined.end(NOT_SENT)
            raise

    async def close(self) -> None:
        """End all enforcers."""
        placed, self._placed = self._placed, ()
        self._covering = {}
        for each in placed:
            await _closed(each)

    def _made(self, policy: Policy) -> Placed | None:
        maker = self._makers.get(policy.kind)
        if maker is None and policy.kind in ELSEWHERE:
            return None
        if maker is None:
            log.warning("admission.kind_unknown", policy=policy.name, kind=policy.kind.value)
            self.not_enforced[policy.name] = f"this gateway has no {policy.kind.value}"
            return _unmade(policy)
        try:
            enforcer = maker(policy, self._surroundings)
        except Exception as error:
            log.exception("admission.not_made", policy=policy.name)
            self.not_enforced[policy.name] = f"it could not be made ready: {error}"
            return _unmade(policy)
        return Placed(policy=policy, kind=policy.kind, enforcer=enforcer)

    async def _ruled(self, joined: Joined, asked: Asked, ends_s: float | None) -> Ruling:
        for placed in self._covered(asked):
            ruling = await self._asked(placed, asked, ends_s)
            if placed.policy.mode is Mode.OBSERVE:
                joined.observe(ruling)
            elif ruling.decision.verdict is Verdict.ADMIT:
                joined.add(ruling)
            else:
                joined.end(NOT_SENT)
                return joined.refused(_named(ruling, placed.policy.name))
        return joined.admitted()

    def _covered(self, asked: Asked) -> tuple[Placed, ...]:
        where = (asked.route, asked.service, asked.region)
        found = self._covering.get(where)
        if found is None:
            if len(self._covering) >= MOST_PLACES:
                self._covering.clear()
            found = tuple(one for one in self._placed if one.policy.covers(asked))
            self._covering[where] = found
        return found

    async def _asked(self, placed: Placed, asked: Asked, ends_s: float | None) -> Ruling:
        try:
            ruling, fell_back = await _answer(placed, asked, ends_s)
        except Exception:
            # A fault in one policy must not take the site down; it is said and counted.
            log.exception("admission.fault", policy=placed.policy.name)
            ruling, fell_back = without_judgment(placed.policy), "fault"
        said = Said(
            policy=placed.policy.name,
            kind=placed.kind,
            mode=placed.policy.mode,
            decision=ruling.decision,
            fell_back=fell_back,
        )
        self._watcher.decided(said, asked)
        return ruling


def _unmade(policy: Policy) -> Placed | None:
    """Who stands in for a policy that cannot be enforced; None lets everything through."""
    if policy.when_away is not WhenAway.REFUSE:
        return None
    return Placed(policy=policy, kind=policy.kind, enforcer=Unmade())


async def _answer(placed: Placed, asked: Asked, ends_s: float | None) -> tuple[Ruling, str]:
    """What an enforcer says, and why it says so without shared state ("": it had it)."""
    try:
        step = begun(placed.enforcer.rule(asked))
        if isinstance(step, Ready):
            return step.result, ""
        async with asyncio.timeout_at(ends_s):
            return await step, ""
    except Retryable as error:
        return without_state(placed.policy, placed.enforcer, asked), error.code
    except TimeoutError:
        return without_state(placed.policy, placed.enforcer, asked), "out_of_time"


def _ends_s(budget_s: float | None) -> float | None:
    return None if budget_s is None else asyncio.get_running_loop().time() + budget_s


def _named(ruling: Ruling, policy: str) -> Ruling:
    """Who is not let on is told by whom."""
    decision = ruling.decision
    return ruling if decision.policy else replace(ruling, decision=replace(decision, policy=policy))


def _told(placed: Sequence[Placed]) -> Iterator[str]:
    for each in placed:
        spec = each.policy.abnormal_traffic
        if spec is not None and each.policy.mode is Mode.ENFORCE:
            yield spec.header.lower()


async def _closed(placed: Placed) -> None:
    try:
        await placed.enforcer.close()
    except Exception:
        log.exception("admission.close_fault", policy=placed.policy.name)
