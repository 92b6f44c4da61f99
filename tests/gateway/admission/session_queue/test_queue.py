import asyncio
from dataclasses import replace
from typing import Any

import jwt
import pytest
import structlog

from controlplane.domain.admission.asking import Asked, Verdict
from controlplane.domain.admission.policy import Mode
from controlplane.domain.admission.session_queue.policy import Alone, Gate, SessionQueuePolicy
from controlplane.domain.errors import Retryable
from gateway.admission.enforcing import Outcome, Ruling
from gateway.state.keys import key
from gateway.state.ports import Sized, Times
from gateway.state.shared import SharedState
from tests.gateway.admission.session_queue.visitors import COOKIE, Browser, Site, site, told

GOOD = Outcome(status=200, took_s=0.1)
POLICY = SessionQueuePolicy(initial_size=1)


async def test_one_is_let_in_and_the_next_one_is_told_his_position() -> None:
    async with site() as queued:
        first, second, third = (Browser(site=queued) for _ in range(3))
        assert (await first.get()).decision.verdict is Verdict.ADMIT
        waits = await second.get()
        assert (waits.decision.verdict, waits.decision.reason) == (Verdict.WAIT, "queued")
        assert waits.decision.policy == "seats"
        assert waits.answer is not None
        assert waits.answer.status == 503
        assert [await one.position() for one in (third, second, first)] == [2, 1, 0]


async def test_a_ticket_lets_through_without_asking_the_shared_state() -> None:
    async with site() as queued:
        inside = Browser(site=queued)
        await inside.get()
        assert queued.state is not None
        away = queued.agent(queued.policy, _without_pools(queued.state))
        ruling = await away.rule(inside.asked())
        assert ruling.decision.verdict is Verdict.ADMIT
        assert ruling.response_headers == ()
        queued.passes(21)
        with pytest.raises(Retryable):
            await away.rule(inside.asked())
        await away.close()


async def test_a_session_that_goes_on_gets_new_tickets() -> None:
    async with site() as queued:
        inside = Browser(site=queued)
        await inside.get()
        for _ in range(20):
            before = inside.ticket
            queued.passes(30)
            assert await inside.position() == 0
            assert inside.ticket != before


async def test_a_session_that_stops_frees_its_place() -> None:
    async with site() as queued:
        stops, waits = Browser(site=queued), Browser(site=queued)
        assert [await stops.position(), await waits.position()] == [0, 1]
        for _ in range(4):
            queued.passes(20)
            assert await waits.position() == 1
        queued.passes(2)
        assert await waits.position() == 0
        assert await stops.position() == 1


async def test_the_last_answer_of_a_session_frees_its_place() -> None:
    async with site(finish_paths=("/logout",)) as queued:
        inside, waits = Browser(site=queued), Browser(site=queued)
        await inside.get()
        await waits.get()
        last = await inside.get("/logout")
        assert inside.ticket == ""
        assert await waits.position() == 1
        assert last.ended is not None
        last.ended(GOOD)
        await asyncio.sleep(0.01)
        assert await waits.position() == 0


async def test_without_the_news_of_the_last_answer_it_is_taken_for_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gateway.admission.session_queue.queue.LAST_ANSWER_S", 0.01)
    async with site(finish_paths=("/logout",)) as queued:
        inside, waits = Browser(site=queued), Browser(site=queued)
        await inside.get()
        await waits.get()
        asked = replace(inside.asked("/logout"), followed=False)
        await queued.queue.rule(asked)
        await asyncio.sleep(0.05)
        assert await waits.position() == 0


async def test_who_finished_wins_nothing_with_an_old_ticket() -> None:
    async with site(finish_paths=("/logout",)) as queued:
        inside, waits = Browser(site=queued), Browser(site=queued)
        await inside.get()
        await waits.get()
        old = inside.ticket
        last = await inside.get("/logout")
        assert last.ended is not None
        last.ended(GOOD)
        await asyncio.sleep(0.01)
        inside.ticket = old
        queued.passes(21)
        assert await waits.position() == 0
        assert await inside.position() == 1


@pytest.mark.parametrize("change", ["signature", "claims", "other queue", "other address"])
async def test_a_tampered_or_foreign_ticket_goes_to_the_back(change: str) -> None:
    async with site() as queued:
        inside, *others = (Browser(site=queued) for _ in range(4))
        for one in (inside, *others):
            await one.get()
        thief = Browser(site=queued, ticket=others[0].ticket)
        if change == "signature":
            head, claims, signature = thief.ticket.split(".")
            thief.ticket = f"{head}.{claims}.{signature[::-1]}"
        elif change == "claims":
            head, _, signature = thief.ticket.split(".")
            thief.ticket = f"{head}.{inside.ticket.split('.')[1]}.{signature}"
        elif change == "other queue":
            other = Site(policy=POLICY)
            stranger = Browser(site=other)
            await stranger.get()
            thief.ticket = stranger.ticket
            await other.queue.close()
        else:
            thief.source = "198.51.100.9"
        assert await thief.position() == 4
        assert await others[0].position() == 1


async def test_the_switches() -> None:
    async with site(gate=Gate.BYPASS) as queued:
        assert [await Browser(site=queued).position() for _ in range(3)] == [0, 0, 0]
        assert queued.queue.fall_back(Browser(site=queued).asked()).decision.reason == ""
    async with site(gate=Gate.HOLD) as queued:
        held = await Browser(site=queued).get()
        assert held.decision.reason == "queue_held"


async def test_a_revoked_session_is_put_out_and_goes_to_the_back() -> None:
    async with site() as queued:
        inside, waits = Browser(site=queued), Browser(site=queued)
        await inside.get()
        number = (await waits.get()).decision.details["session"]
        session = jwt.decode(inside.ticket, options={"verify_signature": False})["sub"]
        strict = queued.agent(replace(queued.policy, revoked=(session,)))
        ruling = inside.keep(await strict.rule(inside.asked()))
        assert ruling.decision.verdict is Verdict.WAIT
        assert ruling.decision.details["session"] not in (session, number)
        assert await waits.position() == 0
        assert await inside.position() == 1
        await strict.close()


async def test_a_full_line_turns_away_without_a_ticket() -> None:
    async with site(most_waiting=1) as queued:
        for _ in range(2):
            await Browser(site=queued).get()
        turned = await Browser(site=queued).get()
        assert turned.decision.reason == "queue_full"
        assert turned.response_headers == ()
        assert "lines" in told(turned)


async def test_a_question_never_reaches_the_site() -> None:
    async with site() as queued:
        inside, waits = Browser(site=queued), Browser(site=queued)
        for _ in range(2):
            ruling = await inside.get(x_signalbox_queue="ask")
            assert ruling.decision.verdict is Verdict.ANSWER
            assert told(ruling) == {"admitted": True}
        asked = replace(inside.asked(x_signalbox_queue="ask"), followed=False)
        assert (await queued.queue.rule(asked)).decision.verdict is Verdict.ADMIT
        await waits.get()
        answer = told(await waits.get(x_signalbox_queue="ask"))
        assert (answer["admitted"], answer["position"]) == (False, 1)
        assert 2 <= answer["poll_s"] <= 15


async def test_a_request_waits_in_the_agent_where_that_is_declared() -> None:
    async with site(hold_s=5.0, finish_paths=("/logout",), period_s=0.2) as queued:
        first, second = Browser(site=queued), Browser(site=queued)
        await first.get()
        waiting = asyncio.create_task(second.get())
        await asyncio.sleep(0.05)
        assert not waiting.done()
        last = await first.get("/logout")
        assert last.ended is not None
        last.ended(GOOD)
        assert (await asyncio.wait_for(waiting, 2)).decision.verdict is Verdict.ADMIT


async def test_a_request_that_has_waited_long_enough_gets_the_page() -> None:
    async with site(hold_s=0.05) as queued:
        await Browser(site=queued).get()
        second = Browser(site=queued)
        same, waited = await asyncio.gather(second.get(), second.get())
        assert {same.decision.verdict, waited.decision.verdict} == {Verdict.WAIT}
        twice = await asyncio.gather(second.get(), second.get())
        assert [one.decision.verdict for one in twice] == [Verdict.WAIT] * 2


async def test_a_policy_that_observes_holds_nobody_up() -> None:
    queued = Site(policy=replace(POLICY, hold_s=30.0), mode=Mode.OBSERVE)
    await Browser(site=queued).get()
    waits = await asyncio.wait_for(Browser(site=queued).get(), 1)
    assert waits.decision.verdict is Verdict.WAIT
    await queued.queue.close()


async def test_a_proxy_that_only_asks_is_not_held_up() -> None:
    async with site(hold_s=30.0) as queued:
        await Browser(site=queued).get()
        asked = replace(Browser(site=queued).asked(), followed=False)
        waits = await asyncio.wait_for(queued.queue.rule(asked), 1)
        assert waits.decision.verdict is Verdict.WAIT


async def test_a_client_that_gives_up_leaves_nothing_behind() -> None:
    async with site(hold_s=30.0) as queued:
        await Browser(site=queued).get()
        waiting = asyncio.create_task(Browser(site=queued).get())
        await asyncio.sleep(0.02)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert len(queued.queue._holding) == 0


async def test_who_waits_is_shown_the_page_when_the_policy_changes() -> None:
    async with site(hold_s=30.0) as queued:
        await Browser(site=queued).get()
        waiting = asyncio.create_task(Browser(site=queued).get())
        await asyncio.sleep(0.02)
        await queued.queue.close()
        assert (await waiting).decision.verdict is Verdict.WAIT


async def test_the_pool_grows_with_fast_answers_and_a_queue() -> None:
    async with site(period_s=0.05, target_ms=500.0) as queued:
        inside, second, third = (Browser(site=queued) for _ in range(3))
        answered = (await inside.get()).ended
        assert answered is not None
        for _ in range(3):
            answered(GOOD)
        assert [await second.position(), await third.position()] == [1, 2]
        queued.passes(1)
        await asyncio.sleep(0.1)
        assert await second.position() == 0
        assert (await third.get()).decision.details["size"] == 2


async def test_two_agents_share_pool_and_key() -> None:
    async with site() as queued:
        other = queued.agent(queued.policy)
        inside, waits = Browser(site=queued), Browser(site=queued)
        await inside.get()
        waits.keep(await other.rule(waits.asked()))
        assert (await other.rule(inside.asked())).decision.verdict is Verdict.ADMIT
        assert await waits.position() == 1
        await other.close()


async def test_a_shared_key_that_is_none_lets_nobody_pass_the_queue() -> None:
    async with site() as queued:
        assert queued.state is not None
        await queued.state.values.set(key("seats", "ticket-key"), b"somebody else's")
        inside, waits = Browser(site=queued), Browser(site=queued)
        assert [await inside.position(), await waits.position()] == [0, 1]
        assert [await waits.position(), await inside.position()] == [1, 0]


@pytest.mark.parametrize(
    ("alone", "verdicts"),
    [
        (Alone.POOL, [Verdict.ADMIT, Verdict.ADMIT, Verdict.WAIT]),
        (Alone.ADMIT, [Verdict.ADMIT] * 3),
        (Alone.REFUSE, [Verdict.WAIT] * 3),
    ],
)
async def test_without_shared_state_it_does_as_declared(
    alone: Alone, verdicts: list[Verdict]
) -> None:
    async with site(alone=alone, initial_size=4, finish_paths=("/logout",)) as queued:
        inside = Browser(site=queued)
        await inside.get()
        rulings = [_fall_back(queued, Browser(site=queued).asked()) for _ in range(3)]
        assert [one.decision.verdict for one in rulings] == verdicts
        assert _fall_back(queued, inside.asked()).decision.verdict is Verdict.ADMIT


async def test_a_pool_of_its_own_goes_on_from_request_to_request() -> None:
    async with site(alone_share=0.5, initial_size=2, finish_paths=("/logout",)) as queued:
        first, second = Browser(site=queued), Browser(site=queued)
        for one in (first, second):
            one.keep(queued.queue.fall_back(one.asked()))
        assert second.keep(queued.queue.fall_back(second.asked())).answer is not None
        last = first.keep(queued.queue.fall_back(first.asked("/logout")))
        assert last.ended is not None
        last.ended(Outcome(status=0, took_s=1.0, sent=False))
        await asyncio.sleep(0.01)
        assert queued.queue.fall_back(second.asked()).answer is None


async def test_the_cookie_is_kept_from_scripts_and_from_the_open() -> None:
    async with site() as queued:
        ((name, value),) = (await Browser(site=queued).get()).response_headers
        assert (name, value.startswith(f"{COOKIE}=")) == ("set-cookie", True)
        assert value.endswith("; Path=/; HttpOnly; SameSite=Lax")
        secure = await Browser(site=queued).get(x_forwarded_proto="https")
        assert secure.response_headers[0][1].endswith("; Secure")


def _fall_back(queued: Site, asked: Asked) -> Ruling:
    return queued.queue.fall_back(asked)


class _Away:
    """Pools that cannot be reached."""

    async def visit(self, *_: Any) -> Any:
        raise Retryable("shared_state_away", "away")

    async def leave(self, *_: Any) -> bool:
        raise Retryable("shared_state_away", "away")

    async def tell(self, key: str, times: Times, period_s: float) -> Any:
        raise Retryable("shared_state_away", "away")

    async def resize(self, key: str, sized: Sized) -> bool:
        raise Retryable("shared_state_away", "away")


def _without_pools(state: SharedState) -> SharedState:
    return replace(state, pools=_Away())


async def test_behind_a_proxy_that_only_asks_it_is_said_once_that_the_size_stays() -> None:
    async with site() as queued:
        asked = Browser(site=queued).asked()
        with structlog.testing.capture_logs() as said:
            await queued.queue.rule(asked)
            assert said == []
            for _ in range(2):
                await queued.queue.rule(replace(asked, followed=False))
    assert [one["event"] for one in said] == ["session_queue.size_fixed"]


async def test_a_request_that_comes_after_the_end_starts_nothing() -> None:
    """Two that steer one pool would resize it by two policies for ever."""
    async with site() as queued:
        before = asyncio.all_tasks()
        await queued.queue.close()
        await Browser(site=queued).get()
        assert asyncio.all_tasks() == before
