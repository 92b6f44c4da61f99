"""A sale on nodes that share memory, with a real shop behind them."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.domain.admission.flash_sale import tickets
from controlplane.domain.admission.flash_sale.life import Opening, Phase
from controlplane.domain.admission.flash_sale.policy import (
    Challenge,
    FlashSalePolicy,
    WithoutState,
)
from controlplane.domain.errors import Retryable
from gateway.admission.flash_sale.counter import SaleCounter
from gateway.admission.flash_sale.funnel import Layer
from gateway.admission.flash_sale.host import SaleHost
from gateway.admission.flash_sale.stock import Stock
from gateway.admission.opening_options import OpeningOptions
from gateway.direct_http import Call
from gateway.last_good.polling import Source
from gateway.state.shared import SharedState, in_memory
from tests.gateway.admission.flash_sale.shop_server import ShopServer, shop_server

TOKEN = "the-purchase-token"
# Nodes of one sale have one moment of it.
OPENED_S = time.time() - 1


def _policy(shop: ShopServer, **changes: object) -> FlashSalePolicy:
    policy = FlashSalePolicy(
        item="phone",
        stock=2,
        opens_at_s=OPENED_S,
        ends_at_s=time.time() + 600,
        orders_url=f"{shop.url}/orders",
        forms_per_node=3,
        replication_delay_s=0.05,
    )
    return replace(policy, **changes)


def _opening(policy: FlashSalePolicy) -> Opening:
    return Opening(
        sale="phones",
        item=policy.item,
        opens_at_s=policy.opens_at_s,
        token=TOKEN,
        key="k" * 43,
        opened_at_s=policy.opens_at_s,
    )


@asynccontextmanager
async def _node(
    policy: FlashSalePolicy, folder: Path, state: SharedState | None = None
) -> AsyncIterator[SaleHost]:
    folder.mkdir(exist_ok=True)
    token = folder / "token"
    token.write_text("sbx_x")
    # Nobody answers there: what is opened was handed over by the test.
    source = Source(urls=("http://127.0.0.1:9",), path="", token_file=token)
    options = OpeningOptions(source=source, folder=folder)
    host = SaleHost(state or in_memory(time.monotonic), options)
    await host.take({"phones": policy})
    try:
        yield host
    finally:
        await host.close()


def _open(host: SaleHost) -> SaleCounter:
    counter = host.counters["phones"]
    counter.open(_opening(counter.policy))
    return counter


async def _asked(
    host: SaleHost, what: str, user: str = "", cookie: str = "", **sent: str
) -> tuple[int, dict[str, str], bytes]:
    cookies = f"sid={user}; {cookie}".encode()
    method = b"POST" if what.endswith("order") else b"GET"
    target = what if what.startswith("/") else f"/sales/phones/{TOKEN}/{what}"
    headers = [(b"Cookie", cookies)] if user else []
    answer = host.answer(Call(method, target.encode(), headers, json.dumps(sent).encode()))
    wired = await answer if isinstance(answer, Awaitable) else answer
    head, _, body = wired.partition(b"\r\n\r\n")
    told = json.loads(body) if body.startswith(b"{") else {}
    return int(head.split()[1]), told, head


async def _bought(host: SaleHost, user: str) -> str:
    status, form, _ = await _asked(host, "form", user)
    if status != 200:
        return form["outcome"]
    return (await _asked(host, "order", user, ticket=form["ticket"]))[1]["outcome"]


async def test_before_the_opening_no_address_is_right(tmp_path: Path) -> None:
    async with shop_server(left=2) as shop:
        policy = _policy(shop, opens_at_s=time.time() + 60)
        async with _node(policy, tmp_path) as host:
            right = await _asked(host, "form", "ann")
            wrong = await _asked(host, "/sales/phones/guess/form", "ann")
            assert right == wrong
            assert right[0] == 404
            script = host.answer(Call(b"GET", b"/sales/phones/script.js", [], b""))
            assert isinstance(script, bytes)
            assert b'"phase":"scheduled"' in script
            assert b'"purchase":null' in script
            _open(host)
            script = host.answer(Call(b"GET", b"/sales/phones/script.js", [], b""))
            assert isinstance(script, bytes)
            assert f'"purchase":"/sales/phones/{TOKEN}"'.encode() in script
            assert host.counters["phones"].desk.phase(time.time()) is Phase.OPEN


async def test_a_node_gives_out_its_quota_and_sells_no_more_than_there_is(tmp_path: Path) -> None:
    async with shop_server(left=2) as shop, _node(_policy(shop), tmp_path) as host:
        counter = _open(host)
        told = await asyncio.gather(*(_bought(host, f"user-{number}") for number in range(10)))
        assert sorted(told) == ["accepted"] * 2 + ["ended"] * 8
        assert len(shop.bought) == 2
        batches = len(shop.batches)
        assert await _bought(host, "late") == "ended"
        assert len(shop.batches) == batches
        assert counter.funnel.answered[Layer.SHOP, "accepted"] == 2
        assert counter.desk.phase(time.time()) is Phase.SOLD_OUT


async def test_who_asks_again_gets_his_last_answer(tmp_path: Path) -> None:
    async with shop_server(left=2) as shop, _node(_policy(shop), tmp_path) as host:
        counter = _open(host)
        first = await _asked(host, "form", "ann")
        assert await _asked(host, "form", "ann") == first
        bought = await _asked(host, "order", "ann", ticket=first[1]["ticket"])
        assert bought[0] == 201
        assert await _asked(host, "order", "ann", ticket=first[1]["ticket"]) == bought
        assert counter.funnel.answered[Layer.SITE, "form"] == 1
        assert counter.funnel.answered[Layer.SITE, "accepted"] == 1
        assert len(shop.bought) == 1


async def test_a_form_counts_once_on_all_nodes(tmp_path: Path) -> None:
    state = in_memory(time.monotonic)
    async with (
        shop_server(left=2) as shop,
        _node(_policy(shop), tmp_path, state) as one,
        _node(_policy(shop, forms_per_node=1), tmp_path / "two", state) as two,
    ):
        _open(one)
        other = _open(two)
        _, form, head = await _asked(one, "form", "ann")
        cookie = head.decode().partition("Set-Cookie: ")[2].partition(";")[0]
        assert (await _asked(two, "form", "ann", cookie))[1] == form
        assert not other.desk._forms.holders
        # And so does "ended": he is told the same where there are forms left.
        ended = f"{other.desk.cookie}=ended"
        assert (await _asked(two, "form", "eve", ended))[1]["outcome"] == "ended"


async def test_nodes_share_the_stock_and_the_news(tmp_path: Path) -> None:
    state = in_memory(time.monotonic)
    async with (
        shop_server(left=1) as shop,
        _node(_policy(shop, stock=1), tmp_path, state) as one,
        _node(_policy(shop, stock=1), tmp_path / "two", state) as two,
    ):
        _open(one)
        counter = _open(two)
        forms = [(await _asked(host, "form", "bob"))[1]["ticket"] for host in (one, two)]
        assert await _bought(one, "ann") == "accepted"
        assert (await _asked(two, "order", "bob", ticket=forms[1]))[1]["outcome"] == "ended"
        assert shop.batches == [["ann"]]
        async with asyncio.timeout(2):
            while counter.desk.phase(time.time()) is not Phase.SOLD_OUT:
                await asyncio.sleep(0.02)
        assert (await _asked(one, "order", "bob", ticket=forms[0]))[1]["outcome"] == "sold_out"


async def test_batches_are_bounded_one_at_a_time_and_go_again_when_they_fail(
    tmp_path: Path,
) -> None:
    async with (
        shop_server(left=9, faults=2, pause_s=0.01) as shop,
        _node(_policy(shop, stock=9, batch=2, forms_per_node=9), tmp_path) as host,
    ):
        counter = _open(host)
        told = await asyncio.gather(*(_bought(host, f"user-{number}") for number in range(9)))
        assert told == ["accepted"] * 9
        assert max(len(batch) for batch in shop.batches) == 2
        assert len(shop.bought) == 9
        assert counter.funnel.failed_batches == 2


async def test_when_the_stock_is_gone_the_whole_queue_is_told_without_the_shop(
    tmp_path: Path,
) -> None:
    # The shop has less than the sale says, so that orders wait when it is gone.
    async with (
        shop_server(left=1, pause_s=0.05) as shop,
        _node(_policy(shop, stock=9, batch=1, forms_per_node=9), tmp_path) as host,
    ):
        _open(host)
        told = await asyncio.gather(*(_bought(host, f"user-{number}") for number in range(6)))
        assert sorted(told) == ["accepted"] + ["sold_out"] * 5
        assert len(shop.batches) == 1


async def test_caches_forget_before_the_write_and_again_after_the_delay(tmp_path: Path) -> None:
    async with shop_server(left=2) as shop:
        policy = _policy(shop, invalidate_url=f"{shop.url}/forget")
        async with _node(policy, tmp_path) as host:
            _open(host)
            assert await _bought(host, "ann") == "accepted"
            await asyncio.sleep(0.15)
    assert shop.forgotten == [0, 1]


async def test_an_order_needs_a_form_a_user_and_the_right_answer(tmp_path: Path) -> None:
    async with shop_server(left=2) as shop:
        policy = _policy(shop, challenge=Challenge.QUIZ, interval_s=0.0)
        async with _node(policy, tmp_path) as host:
            counter = _open(host)
            _, form, _ = await _asked(host, "form", "ann")
            for user, sent, outcome in (
                ("bob", {"ticket": form["ticket"]}, "no_form"),
                ("ann", {"ticket": "x"}, "no_form"),
                ("ann", {"ticket": form["ticket"]}, "challenge_failed"),
            ):
                assert (await _asked(host, "order", user, **sent))[1]["outcome"] == outcome
            assert (await _asked(host, "form"))[0] == 401
            assert (await _asked(host, f"/sales/phones/{TOKEN}/other", "ann"))[0] == 404
            assert (await _asked(host, "/sales/phones/script.js/order"))[0] == 404
            assert (await _asked(host, "/elsewhere"))[0] == 404
            answer = tickets.question("k" * 43, "ann").answer
            sent = {"ticket": form["ticket"], "answer": answer}
            assert (await _asked(host, "order", "ann", **sent))[0] == 201
            assert counter.funnel.answered[Layer.SERVICE, "no_form"] == 2


async def test_who_is_faster_than_a_person_and_who_knows_no_code_buys_nothing(
    tmp_path: Path,
) -> None:
    codes = ("2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b",)
    async with shop_server(left=2) as shop:
        policy = _policy(
            shop, challenge=Challenge.CODE, codes=codes, fastest_order_s=60.0, interval_s=0.0
        )
        async with _node(policy, tmp_path) as host:
            _open(host)
            _, form, _ = await _asked(host, "form", "ann")
            assert form["question"] == "code"
            sent = {"ticket": form["ticket"], "answer": "secret"}
            assert (await _asked(host, "order", "ann", **sent))[1]["outcome"] == "too_fast"
            sent["ticket"] = tickets.ticket("k" * 43, "ann", int((time.time() - 61) * 1_000))
            wrong = {**sent, "answer": "guess"}
            assert (await _asked(host, "order", "ann", **wrong))[1]["outcome"] == "challenge_failed"
            assert (await _asked(host, "order", "ann", **sent))[1]["outcome"] == "accepted"


async def test_an_order_that_the_shop_refuses_gives_its_part_back(tmp_path: Path) -> None:
    async with (
        shop_server(left=1, refused={"eve"}) as shop,
        _node(_policy(shop, stock=1), tmp_path) as host,
    ):
        _open(host)
        assert await _bought(host, "eve") == "refused"
        assert await _bought(host, "ann") == "accepted"


class _Away:
    """Counters and values that never answer in time."""

    async def add(self, *_: object) -> None:
        raise Retryable("shared_state_away", "away")

    async def get(self, *_: object) -> None:
        raise Retryable("shared_state_away", "away")

    async def set(self, *_: object) -> None:
        raise Retryable("shared_state_away", "away")

    async def compare_and_set(self, *_: object) -> None:
        raise Retryable("shared_state_away", "away")


@pytest.mark.parametrize(
    ("without", "outcomes"),
    [
        (WithoutState.NODE, ["accepted"] * 2 + ["sold_out"]),
        (WithoutState.REFUSE, ["busy"] * 3),
    ],
)
async def test_without_shared_state_the_policy_says_what_orders_get(
    tmp_path: Path, without: WithoutState, outcomes: list[str]
) -> None:
    state = in_memory(time.monotonic)
    away = replace(state, counters=_Away(), values=_Away())  # type: ignore[arg-type]
    async with (
        shop_server(left=2) as shop,
        _node(_policy(shop, without_state=without), tmp_path, away) as host,
    ):
        counter = _open(host)
        told = await asyncio.gather(*(_bought(host, f"user-{n}") for n in range(3)))
        assert sorted(told) == outcomes
        assert counter.stock.away
    assert len(shop.bought) == outcomes.count("accepted")


async def test_parts_of_a_node_that_died_are_released(tmp_path: Path) -> None:
    async with shop_server(left=2) as shop, _node(_policy(shop), tmp_path) as host:
        counter = _open(host)
        assert await counter.stock.take("order-of-a-dead-node")
        assert await counter.stock.take("another")
        assert not await counter.stock.take("third")
        await counter.stock.release()
        assert await counter.stock.take("third")


async def test_who_bought_the_last_through_a_node_that_died_is_told_so(tmp_path: Path) -> None:
    state = in_memory(time.monotonic)
    async with (
        shop_server(left=1) as shop,
        _node(_policy(shop, stock=1), tmp_path, state) as one,
        _node(_policy(shop, stock=1), tmp_path / "two", state) as two,
    ):
        _open(one)
        counter = _open(two)
        ticket = (await _asked(two, "form", "ann"))[1]["ticket"]
        other = (await _asked(two, "form", "bob"))[1]["ticket"]
        assert await _bought(one, "ann") == "accepted"
        async with asyncio.timeout(2):
            while not counter.writer.sold_out:
                await asyncio.sleep(0.02)
        # She never got the answer of the first node.
        assert (await _asked(two, "order", "ann", ticket=ticket))[0] == 201
        assert (await _asked(two, "order", "bob", ticket=other))[1]["outcome"] == "sold_out"
        assert len(shop.bought) == 1


async def test_when_shared_state_was_lost_the_shop_says_whose_the_last_was(tmp_path: Path) -> None:
    state = in_memory(time.monotonic)
    async with (
        shop_server(left=1) as shop,
        _node(_policy(shop, stock=1), tmp_path, state) as one,
    ):
        counter = _open(one)
        await counter.stock.begin()
        for user, order in (("ann", "ann's"), ("bob", "bob's")):
            assert (await _asked(one, "form", user))[0] == 200
            assert not await counter.stock.may_have(order)
        # Everything is gone, the mark too: whose order it was, only the shop knows.
        counter.stock._values = in_memory(time.monotonic).values
        assert await counter.stock.may_have("ann's")
        assert not await counter.stock.look()
        assert await counter.stock.may_have("bob's")
        other = Stock("phones", counter.policy, replace(state, values=counter.stock._values))
        await other.begin()
        assert await other.may_have("bob's")


async def test_a_changed_sale_is_served_anew_and_a_removed_one_is_gone(tmp_path: Path) -> None:
    async with shop_server(left=2) as shop, _node(_policy(shop), tmp_path) as host:
        first = _open(host)
        await host.take({"phones": first.policy})
        assert host.counters["phones"] is first
        await host.take({"phones": replace(first.policy, stock=9)})
        assert host.counters["phones"] is not first
        await host.take({})
        assert (await _asked(host, "/sales/phones/script.js"))[0] == 404
        assert (await _asked(host, "/time"))[0] == 200
