"""The kind `overload` as the agent asks it.

Needs the agent's own proxy, which fetches and gives copies of what goes through; asked by
forward-auth it counts and admits.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from math import inf

from controlplane.domain.admission.asking import Asked, Decision, Verdict
from controlplane.domain.admission.overload.deciding import (
    OverloadFacts,
    Turn,
    alive,
    judged,
)
from controlplane.domain.admission.overload.policy import Alone, OverloadPolicy
from controlplane.domain.admission.overload.reads import Reads
from controlplane.domain.admission.overload.sharing import kept
from controlplane.domain.admission.policy import Mode, Policy
from controlplane.domain.errors import Retryable
from gateway.admission.enforcing import ADMITTED_RULING, Answer, Ruling
from gateway.admission.overload.cache import Cache, Entry
from gateway.admission.overload.copies import Copies
from gateway.admission.overload.turns import Found, Turns, Wait
from gateway.admission.overload.watch import Load, Watch
from gateway.admission.surroundings import Surroundings
from gateway.state.keys import key
from gateway.state.memory.leases import MemoryLeases
from gateway.state.ports import Leases, Room

HIT, FETCHED, STALE = "hit", "fetched", "stale"


class Overload:
    """One policy.

    Args:
        monotonic_s: the clock of ages and waits.
    """

    def __init__(
        self,
        policy: Policy,
        surroundings: Surroundings,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        spec: OverloadPolicy = policy.spec
        state = surroundings.state
        self._name, self._spec = policy.name, spec
        self._monotonic_s = monotonic_s
        self._reads = Reads.of(spec.reads)
        self._windows, self._leases = state.windows, state.leases
        room = Room(ttl_s=_kept_s(spec), most_bytes=spec.most_bytes)
        shelf = key(policy.name, "answers")
        self._cache = Cache(state.answers, shelf, room, spec.most_answer_bytes)
        self._own: Leases = MemoryLeases(monotonic_s, lambda: self._cache.newest_fence)
        self._copies = Copies(spec.most_answer_bytes, self._cache, state.leases, monotonic_s)
        fetch = surroundings.fetch
        self._turns = fetch and Turns(spec, self._cache, fetch, surroundings.agent)
        self._watches: dict[str, Watch] = {}
        self._observes = policy.mode is Mode.OBSERVE

    async def rule(self, asked: Asked) -> Ruling:
        now_s = self._monotonic_s()
        load = await self._watch(asked.service).add(now_s)
        wanted = self._reads.wanted(asked.request)
        if wanted is None or self._turns is None:
            return ADMITTED_RULING
        name = key(self._name, "read", wanted.key)
        since_s = load.since_s
        if since_s is None:
            return self._copies.ruling(name, now_s) if wanted.plain else ADMITTED_RULING
        entry = self._cache.local(name)
        first = self._judged(entry, since_s, load, Turn.UNASKED)
        if self._observes:
            return Ruling(decision=first)
        if first.verdict is Verdict.ANSWER and entry is not None:
            return Ruling(decision=first, answer=self._from_cache(entry, HIT))
        wait = Wait(
            key=name,
            asked=replace(asked, request=wanted.request),
            alive=lambda one: one is not None and alive(self._spec, self._facts(one, since_s)),
            until_s=now_s + self._spec.wait_s,
        )
        found = await self._waited(wait, self._turns)
        if found is None:
            return ADMITTED_RULING
        return self._ruled(found, since_s, load)

    def fall_back(self, asked: Asked) -> Ruling:
        return ADMITTED_RULING

    async def close(self) -> None:
        """End what is fetched and told."""
        if self._turns is not None:
            await self._turns.close()
        await self._copies.close()
        for watch in self._watches.values():
            await watch.close()

    async def _waited(self, wait: Wait, turns: Turns) -> Found | None:
        """How the wait ended; None lets the request go on, because nobody can lend tokens."""
        try:
            return await turns.wait(wait, self._leases)
        except Retryable:
            if self._spec.alone is Alone.ADMIT:
                return None
            if self._spec.alone is Alone.REFUSE:
                return Found(turn=Turn.APART, entry=self._cache.local(wait.key))
            return await turns.wait(wait, self._own)

    def _ruled(self, found: Found, since_s: float, load: Load) -> Ruling:
        if found.answer is not None:
            decision = Decision(verdict=Verdict.ANSWER, reason=FETCHED, policy=self._name)
            headers = (*kept(found.answer.headers), ("x-admission-cache", FETCHED))
            return Ruling(decision=decision, answer=replace(found.answer, headers=headers))
        decision = self._judged(found.entry, since_s, load, found.turn)
        if decision.verdict is Verdict.ANSWER and found.entry is not None:
            how = STALE if decision.reason == STALE else HIT
            return Ruling(decision=decision, answer=self._from_cache(found.entry, how))
        return Ruling(decision=decision)

    def _judged(self, entry: Entry | None, since_s: float, load: Load, turn: Turn) -> Decision:
        facts = replace(self._facts(entry, since_s), count=load.count, turn=turn)
        return replace(judged(self._spec, facts), policy=self._name)

    def _facts(self, entry: Entry | None, since_s: float) -> OverloadFacts:
        now_s = self._monotonic_s()
        age_s = inf if entry is None else max(now_s - entry.stored_s, 0.0)
        return OverloadFacts(protected_for_s=max(now_s - since_s, 0.0), age_s=age_s)

    def _from_cache(self, entry: Entry, how: str) -> Answer:
        age_s = int(self._monotonic_s() - entry.stored_s)
        more = (("age", str(max(age_s, 0))), ("x-admission-cache", how))
        return replace(entry.answer, headers=(*entry.answer.headers, *more))

    def _watch(self, service: str) -> Watch:
        if service not in self._watches:
            asked_of = key(self._name, "asked", service)
            self._watches[service] = Watch(self._spec, self._windows, asked_of)
        return self._watches[service]


def _kept_s(spec: OverloadPolicy) -> float:
    """After this time no answer is of use to anybody."""
    return max(spec.lifetime_s + spec.stale_s, spec.carried_s + spec.lifetime_s) + spec.token_s
