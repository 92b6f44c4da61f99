"""Takes orders in: a form of this user, the challenge, the shared count, the queue.

Called by `desk` for what its last answers do not answer.
"""

import asyncio
import json
from dataclasses import dataclass
from urllib.parse import parse_qsl

from controlplane.domain.admission.flash_sale import tickets
from controlplane.domain.admission.flash_sale.life import Opening
from controlplane.domain.admission.flash_sale.orders import Entry, Fate, Order
from controlplane.domain.admission.flash_sale.policy import Challenge, FlashSalePolicy
from controlplane.domain.errors import Retryable
from gateway.admission.flash_sale import pages
from gateway.admission.flash_sale.pages import Page
from gateway.admission.flash_sale.stock import Stock
from gateway.admission.flash_sale.writer import Writer

# Then a buyer is told to ask again; his order stays in the queue, and asking again finds it.
PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderForm:
    """What a buyer sends."""

    ticket: str
    answer: str


def read_form(body: bytes) -> OrderForm:
    """Read JSON or a form of HTML; what is not there is ""."""
    try:
        text = body.decode()
        told = json.loads(text) if text.startswith("{") else dict(parse_qsl(text, max_num_fields=8))
    except ValueError:
        told = {}
    return OrderForm(ticket=str(told.get("ticket", "")), answer=str(told.get("answer", "")))


class OrderDesk:
    """Orders of one sale on one node."""

    def __init__(self, name: str, policy: FlashSalePolicy, stock: Stock, writer: Writer) -> None:
        self._name = name
        self._policy = policy
        self._stock = stock
        self._writer = writer

    def objection(self, opening: Opening, user: str, sent: OrderForm, now_s: float) -> Page | None:
        """Why an order is not taken; None when it is."""
        given_ms = tickets.given_ms(opening.key, user, sent.ticket)
        if given_ms is None:
            return pages.NO_FORM
        # Zero asks for nothing: another node's clock may be ahead of ours.
        fastest_s = self._policy.fastest_order_s
        if fastest_s > 0 and now_s - given_ms / 1_000 < fastest_s:
            return pages.TOO_FAST
        if not self._solved(opening, user, sent.answer):
            return pages.WRONG_ANSWER
        return None

    async def take(self, user: str) -> Page:
        """Bring a good order through the shared count, the queue and the shop."""
        order = Order(id=tickets.order_id(self._name, user), user=user)
        if self._writer.sold_out:
            return await self._after_the_last(order)
        try:
            if not await self._stock.take(order.id):
                return pages.ENDED
        except Retryable:
            return pages.BUSY
        entry, fate = self._writer.add(order)
        if fate is None:
            await self._stock.give_back(order.id)
            return pages.SOLD_OUT if entry is Entry.SOLD_OUT else pages.BUSY
        try:
            async with asyncio.timeout(PATIENCE_S):
                return _told(order, await asyncio.shield(fate))
        except TimeoutError:
            return pages.PENDING

    async def _after_the_last(self, order: Order) -> Page:
        # Nothing is left, but his may be among those sold: the node that had sent it may have died.
        if not await self._stock.may_have(order.id):
            return pages.SOLD_OUT
        try:
            return _told(order, await self._writer.ask(order))
        except Retryable:
            return pages.BUSY

    def _solved(self, opening: Opening, user: str, answer: str) -> bool:
        if self._policy.challenge is Challenge.QUIZ:
            return answer.strip() == tickets.question(opening.key, user).answer
        if self._policy.challenge is Challenge.CODE:
            return tickets.is_code(self._policy.codes, answer)
        return True


def _told(order: Order, fate: Fate) -> Page:
    if fate is Fate.ACCEPTED:
        return pages.accepted(order.id)
    return pages.SOLD_OUT if fate is Fate.SOLD_OUT else pages.REFUSED
