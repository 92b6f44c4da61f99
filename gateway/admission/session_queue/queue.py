"""One request of a queued site: let through by its ticket, let in, or shown where it stands."""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import replace

import structlog

from controlplane.domain.admission.asking import ADMITTED, Asked, Decision, Verdict
from controlplane.domain.admission.policy import Mode, Policy
from controlplane.domain.admission.session_queue.control import whole
from controlplane.domain.admission.session_queue.policy import Alone, Gate, SessionQueuePolicy
from controlplane.domain.admission.session_queue.room import Standing, Terms, Visited, Visitor
from controlplane.domain.admission.session_queue.standing import SessionQueueFacts, decide
from controlplane.domain.errors import Invalid, Retryable
from gateway.admission.enforcing import ADMITTED_RULING, Headers, Outcome, Ruling
from gateway.admission.session_queue.alone import OwnPool
from gateway.admission.session_queue.callers import (
    Caller,
    caller,
    cookie,
    no_cookie,
    signer,
    ticket_for,
)
from gateway.admission.session_queue.holding import Holding
from gateway.admission.session_queue.page import answer, is_question, your_turn
from gateway.admission.session_queue.signing import Signer, new_key
from gateway.admission.session_queue.steering import Steering
from gateway.admission.surroundings import Surroundings
from gateway.state.keys import key

log = structlog.get_logger()
# Proxies see tickets in whole seconds, so they last up to one longer.
ROUNDING_S = 1.0
# Where nobody tells when the last answer of a session has ended, it is taken for ended after this.
LAST_ANSWER_S = 5.0
SHORTEST_TICK_S, LONGEST_TICK_S = 0.02, 0.5


class SessionQueue:
    """An `Enforcer`."""

    def __init__(self, policy: Policy, around: Surroundings) -> None:
        self._name = policy.name
        self._policy: SessionQueuePolicy = policy.spec
        self._holds = policy.mode is Mode.ENFORCE and self._policy.hold_s > 0
        self._around = around
        self._key = key(policy.name, "pool")
        self._signer: Signer | None = None
        self._spare_key = new_key()
        self._alone = OwnPool(self._policy)
        tick_s = min(max(self._policy.period_s / 10, SHORTEST_TICK_S), LONGEST_TICK_S)
        self._holding = Holding(self._visit, tick_s, self._policy.abandon_s / 4)
        self._figures = around.pools.open(policy.name, self._policy.target_ms)
        self._steering = Steering(
            name=policy.name,
            policy=self._policy,
            figures=self._figures,
            pools=around.state.pools,
            key=self._key,
            changed=self._holding.freed,
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._steers: asyncio.Task[None] | None = None
        self._closed = False
        self._told_of_fixed_size = False

    async def rule(self, asked: Asked) -> Ruling:
        """What becomes of a request."""
        if self._policy.gate is Gate.BYPASS:
            return ADMITTED_RULING
        # A request may have been on its way here when the policy changed.
        if self._steers is None and not self._closed:
            self._steers = asyncio.create_task(self._steering.run())
        if not asked.followed:
            self._tell_of_fixed_size()
        signed = await self._signed()
        who = caller(self._name, self._policy, signed, asked)
        if who.admitted(asked.now_s):
            return self._admitted(who, asked, ())
        if who.put_out:
            await self._leave(who.put_out)
        visitor = who.visitor(self._policy, asked.now_s)
        (visited,) = await self._visit([visitor])
        if self._may_hold(asked) and visited.standing is Standing.WAITING:
            visited = await self._holding.wait(visitor, visited, self._policy.hold_s)
            # He has waited: his ticket begins now.
            asked = replace(asked, now_s=self._around.now_s())
        return self._ruling(who, visited, signed, asked)

    def fall_back(self, asked: Asked) -> Ruling:
        """Without shared state: `alone` of the policy; tickets are worth what they always are."""
        if self._policy.gate is Gate.BYPASS:
            return ADMITTED_RULING
        signed = self._signer or signer(self._spare_key, self._name, self._policy)
        who = caller(self._name, self._policy, signed, asked)
        if who.admitted(asked.now_s):
            return self._admitted(who, asked, ())
        visited = self._alone.visit(
            who.visitor(self._policy, asked.now_s),
            self._terms(asked.now_s),
            whole(self._steering.control),
            asked.now_s,
        )
        if self._policy.alone is Alone.ADMIT:
            return ADMITTED_RULING
        if self._policy.alone is Alone.REFUSE:
            return self._refused(asked)
        return self._ruling(who, visited, signed, asked)

    async def close(self) -> None:
        """Stop what runs in the background; who waits here is shown the page."""
        self._closed = True
        self._around.pools.close(self._name, self._figures)
        await self._holding.close()
        running = [*self._tasks, *([self._steers] if self._steers is not None else [])]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _visit(self, visitors: Sequence[Visitor]) -> Sequence[Visited]:
        terms = self._terms(self._around.now_s())
        return await self._around.state.pools.visit(self._key, visitors, terms)

    def _tell_of_fixed_size(self) -> None:
        """Say once that nobody tells how long answers take."""
        if not self._told_of_fixed_size:
            self._told_of_fixed_size = True
            log.warning(
                "session_queue.size_fixed",
                policy=self._name,
                size=self._policy.initial_size,
                why="a proxy that only asks does not tell how long answers take: set initial_size "
                "to what the site bears, or put the agent's own proxy in front (--proxy)",
            )

    def _may_hold(self, asked: Asked) -> bool:
        """A proxy that only asks gives up after milliseconds."""
        return self._holds and asked.followed and not is_question(asked)

    def _terms(self, now_s: float) -> Terms:
        policy = self._policy
        return Terms(
            initial_size=policy.initial_size,
            stay_s=policy.idle_s + policy.ticket_s + ROUNDING_S,
            session_s=policy.session_s,
            abandon_s=policy.abandon_s,
            draw_s=policy.draw_s,
            opens_in_s=policy.starts_at_s - now_s,
            most_waiting=policy.most_waiting,
            held=policy.gate is Gate.HOLD,
        )

    async def _signed(self) -> Signer:
        """The signer; without a key of its own the agent takes that of all who share the state."""
        if self._signer is None:
            private = self._around.ticket_key or await self._shared_key()
            try:
                self._signer = signer(private, self._name, self._policy)
            except Invalid as error:
                # What stands in the shared state is no key. A fault would let everybody in.
                log.warning("session_queue.key_unreadable", policy=self._name, why=error.message)
                self._signer = signer(self._spare_key, self._name, self._policy)
        return self._signer

    async def _shared_key(self) -> bytes:
        values, place = self._around.state.values, key(self._name, "ticket-key")
        await values.compare_and_set(place, None, self._spare_key)
        return await values.get(place) or self._spare_key

    def _ruling(self, who: Caller, visited: Visited, signed: Signer, asked: Asked) -> Ruling:
        decision = decide(self._policy, asked, self._facts(visited))
        # Its number is what an operator revokes, and what the log says of it.
        details = {**decision.details, "session": who.session} if decision.details else {}
        decision = replace(decision, policy=self._name, details=details)
        headers: Headers = ()
        if visited.standing is not Standing.TURNED_AWAY:
            ticket = ticket_for(who, visited, self._policy, asked.now_s)
            headers = (cookie(self._name, signed, ticket, asked),)
        if decision.verdict is not Verdict.ADMIT:
            shown = answer(asked, decision, self._policy.title)
            return Ruling(decision=decision, answer=shown, response_headers=headers)
        return self._admitted(who, asked, headers)

    def _facts(self, visited: Visited) -> SessionQueueFacts:
        return SessionQueueFacts(
            standing=visited.standing,
            position=visited.position,
            size=visited.size,
            inside=visited.inside,
            waiting=visited.waiting,
            rate_per_s=self._steering.control.rate_per_s,
        )

    def _admitted(self, who: Caller, asked: Asked, headers: Headers) -> Ruling:
        # A proxy that only asks takes every 2xx for going on.
        if is_question(asked) and asked.followed:
            return self._turn(headers)
        if asked.request.path not in self._policy.finish_paths:
            return Ruling(decision=ADMITTED, response_headers=headers, ended=self._steering.seen)
        if not asked.followed:
            asyncio.get_running_loop().call_later(LAST_ANSWER_S, self._finish, who.session)

        def ended(outcome: Outcome) -> None:
            self._steering.seen(outcome)
            self._finish(who.session)

        gone = (no_cookie(self._name, asked),)
        return Ruling(decision=ADMITTED, response_headers=gone, ended=ended)

    def _turn(self, headers: Headers) -> Ruling:
        decision = Decision(
            verdict=Verdict.ANSWER, reason="queue_admitted", policy=self._name, status=200
        )
        return Ruling(decision=decision, answer=your_turn(), response_headers=headers)

    def _refused(self, asked: Asked) -> Ruling:
        decision = Decision(
            verdict=Verdict.WAIT,
            reason="queue_state_away",
            policy=self._name,
            status=503,
            retry_after_s=self._policy.most_poll_s,
        )
        return Ruling(decision=decision, answer=answer(asked, decision, self._policy.title))

    def _finish(self, session: str) -> None:
        self._start(self._leave(session))

    async def _leave(self, session: str) -> None:
        # As long as a ticket of his could still be shown.
        remembered_s = self._policy.idle_s + self._policy.ticket_s + self._policy.abandon_s
        self._alone.leave(session, remembered_s, self._around.now_s())
        try:
            await self._around.state.pools.leave(self._key, session, remembered_s)
        except Retryable:
            # It ends by itself when it is idle.
            return
        self._holding.freed()

    def _start(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
