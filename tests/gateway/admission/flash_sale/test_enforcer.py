"""A sale before a form and an order page of the shop's own, as the agent's pipeline asks it."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from controlplane.domain.admission.asking import Asked, Verdict
from controlplane.domain.admission.flash_sale import tickets
from controlplane.domain.admission.flash_sale.life import Opening
from controlplane.domain.admission.flash_sale.policy import (
    Challenge,
    FlashSalePolicy,
    WithoutState,
)
from controlplane.domain.admission.policy import Policy
from controlplane.domain.errors import Retryable
from controlplane.domain.routing.matching.request import Request
from gateway.admission.enforcing import Outcome, Ruling
from gateway.admission.flash_sale.enforcer import FlashSale
from gateway.admission.registry import MAKERS
from gateway.admission.surroundings import Surroundings
from gateway.state.shared import SharedState, in_memory

TOKEN, KEY = "the-purchase-token", "k" * 43


@asynccontextmanager
async def _guard(state: SharedState | None = None, **changes: object) -> AsyncIterator[FlashSale]:
    now_s = time.time()
    sale = FlashSalePolicy(
        item="phone",
        stock=1,
        opens_at_s=now_s - 1,
        ends_at_s=now_s + 600,
        orders_url="http://127.0.0.1:9/orders",
        forms_per_node=2,
        interval_s=0.0,
    )
    policy = Policy(name="phones", flash_sale=replace(sale, **changes))
    surroundings = Surroundings(
        state=state or in_memory(time.monotonic), now_s=time.time, agent="a", group="edge"
    )
    guard = MAKERS[policy.kind](policy, surroundings)
    assert isinstance(guard, FlashSale)
    try:
        yield guard
    finally:
        await guard.close()


def _open(guard: FlashSale) -> None:
    policy = guard._counter.policy
    guard._counter.open(
        Opening(
            sale="phones",
            item=policy.item,
            opens_at_s=policy.opens_at_s,
            token=TOKEN,
            key=KEY,
            opened_at_s=policy.opens_at_s,
        )
    )


def _asked(user: str, method: str = "GET", cookie: str = "", query: str = "") -> Asked:
    headers = {"cookie": f"sid={user}; {cookie}"} if user else {}
    request = Request(path=f"/shop/{TOKEN}/buy", method=method, query=query, headers=headers)
    return Asked(request=request, now_s=time.time())


async def _with_form(guard: FlashSale, user: str) -> Asked:
    """The order of somebody who has a form."""
    ruling = await guard.rule(_asked(user))
    assert ruling.decision.verdict is Verdict.ADMIT
    ((header, ticket),) = ruling.request_headers
    assert header == "x-sale-ticket"
    cookie = dict(ruling.response_headers)["Set-Cookie"].partition(";")[0]
    assert cookie == f"{guard._counter.desk.cookie}={ticket}"
    return _asked(user, "POST", cookie)


def _said(ruling: Ruling) -> tuple[Verdict, str, int]:
    decision = ruling.decision
    return decision.verdict, decision.reason, decision.status


NOT_HERE = (Verdict.REFUSE, "not_here", 404)
ENDED = (Verdict.ANSWER, "ended", 410)


async def test_before_the_opening_and_with_another_token_nothing_is_here() -> None:
    async with _guard() as guard:
        assert _said(await guard.rule(_asked("ann"))) == NOT_HERE
        _open(guard)
        other = replace(_asked("ann"), request=Request(path="/shop/guess/buy"))
        assert _said(await guard.rule(other)) == NOT_HERE
        assert _said(guard.fall_back(other)) == NOT_HERE
        assert _said(await guard.rule(_asked(""))) == (Verdict.REFUSE, "no_user", 401)


async def test_forms_and_orders_go_on_until_quota_and_stock_are_reached() -> None:
    async with _guard() as guard:
        _open(guard)
        ann, bob = await _with_form(guard, "ann"), await _with_form(guard, "bob")
        assert _said(await guard.rule(_asked("eve"))) == ENDED
        without = _asked("eve", "POST")
        assert _said(await guard.rule(without)) == (Verdict.REFUSE, "no_form", 403)
        let_on = await guard.rule(ann)
        assert let_on.request_headers == (("x-sale-order", tickets.order_id("phones", "ann")),)
        refused = await guard.rule(bob)
        assert _said(refused) == ENDED
        assert refused.answer is not None
        assert refused.answer.body == b'{"outcome":"ended"}'
        # Sent again it is the same order; when the shop did not take it, another one may go.
        assert (await guard.rule(ann)).decision.verdict is Verdict.ADMIT
        assert let_on.ended is not None
        let_on.ended(Outcome(status=201, took_s=0.1))
        let_on.ended(Outcome(status=500, took_s=0.1))
        await asyncio.sleep(0.01)
        assert (await guard.rule(bob)).decision.verdict is Verdict.ADMIT


async def test_a_challenge_is_answered_in_the_query() -> None:
    async with _guard(challenge=Challenge.QUIZ) as guard:
        _open(guard)
        ann = await _with_form(guard, "ann")
        assert _said(await guard.rule(ann)) == (Verdict.REFUSE, "challenge_failed", 403)
        answer = f"answer={tickets.question(KEY, 'ann').answer}"
        right = replace(ann, request=replace(ann.request, query=answer))
        assert (await guard.rule(right)).decision.verdict is Verdict.ADMIT


class _Away:
    async def compare_and_set(self, *_: object) -> None:
        raise Retryable("shared_state_away", "away")

    async def get(self, *_: object) -> None:
        raise Retryable("shared_state_away", "away")


async def test_without_shared_state_the_policy_says_what_orders_get() -> None:
    away = replace(in_memory(time.monotonic), values=_Away())  # type: ignore[arg-type]
    for without, reason in ((WithoutState.NODE, ""), (WithoutState.REFUSE, "busy")):
        async with _guard(away, without_state=without) as guard:
            _open(guard)
            ann = await _with_form(guard, "ann")
            assert (await guard.rule(ann)).decision.reason == reason
            assert guard.fall_back(ann).decision.reason == reason
            assert guard.fall_back(_asked("ann")).decision.verdict is Verdict.ADMIT


async def test_a_cookie_that_is_no_text_buys_nothing() -> None:
    async with _guard() as guard:
        _open(guard)
        cookie = f"{guard._counter.desk.cookie}=1.\udcff"
        refused = await guard.rule(_asked("ann", "POST", cookie))
        assert _said(refused) == (Verdict.REFUSE, "no_form", 403)
        assert (await guard.rule(_asked("\udcff"))).decision.verdict is Verdict.ADMIT
