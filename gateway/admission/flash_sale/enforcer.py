"""The kind `flash_sale` at work beside a proxy: before a form and an order page of the shop's own.

Addresses carry the purchase token as a part of the path. GET and HEAD take a form, every other
method is an order: with the ticket of a form in the sale's cookie, and an answer to the challenge
in the query (`answer`). What goes on is written by the shop itself, so nothing is queued here.
"""

from urllib.parse import parse_qs

from controlplane.domain.admission.asking import ADMITTED, Asked, Decision, Verdict
from controlplane.domain.admission.flash_sale import tickets
from controlplane.domain.admission.flash_sale.policy import FlashSalePolicy, WithoutState
from controlplane.domain.admission.policy import Policy
from controlplane.domain.errors import Retryable
from gateway.admission.enforcing import Answer, Outcome, Ruling
from gateway.admission.flash_sale import pages
from gateway.admission.flash_sale.counter import SaleCounter
from gateway.admission.flash_sale.desk import Buyer
from gateway.admission.flash_sale.funnel import Layer
from gateway.admission.flash_sale.host import buyer_of
from gateway.admission.flash_sale.order_desk import OrderForm
from gateway.admission.flash_sale.pages import Page
from gateway.admission.surroundings import Surroundings

TICKET_HEADER, ORDER_HEADER = "x-sale-ticket", "x-sale-order"
READING = frozenset({"GET", "HEAD"})


class FlashSale:
    """One sale."""

    def __init__(self, policy: Policy, surroundings: Surroundings) -> None:
        spec: FlashSalePolicy = policy.spec
        self._name = policy.name
        self._policy = spec
        self._counter = SaleCounter(policy.name, spec, surroundings.state, surroundings.openings)
        self._counter.start()

    async def rule(self, asked: Asked) -> Ruling:
        buyer = self._buyer(asked)
        refused = self._refused(asked, buyer)
        if refused is not None:
            return refused
        if asked.request.method in READING:
            return self._form(asked, buyer)
        order = tickets.order_id(self._name, buyer.user)
        try:
            if not await self._counter.stock.take(order):
                return self._stopped(pages.ENDED, Layer.SERVICE)
        except Retryable:
            return self._stopped(pages.BUSY, Layer.SERVICE)
        return self._let_on(order)

    def fall_back(self, asked: Asked) -> Ruling:
        buyer = self._buyer(asked)
        refused = self._refused(asked, buyer)
        if refused is not None:
            return refused
        if asked.request.method in READING:
            return self._form(asked, buyer)
        if self._policy.without_state is WithoutState.REFUSE:
            return self._stopped(pages.BUSY, Layer.SERVICE)
        return self._let_on(tickets.order_id(self._name, buyer.user))

    async def close(self) -> None:
        await self._counter.close()

    def _buyer(self, asked: Asked) -> Buyer:
        return buyer_of(self._counter.desk, asked.request.headers.get("cookie", ""))

    def _refused(self, asked: Asked, buyer: Buyer) -> Ruling | None:
        desk = self._counter.desk
        if not any(desk.knows(part) for part in asked.request.path.split("/") if part):
            return self._stopped(pages.NOT_HERE, Layer.SITE)
        if not buyer.user:
            return self._stopped(pages.NO_USER, Layer.SITE)
        if asked.request.method in READING:
            return None
        sent = OrderForm(
            ticket=buyer.cookie, answer=parse_qs(asked.request.query).get("answer", [""])[0]
        )
        objection = desk.objection(buyer, sent, asked.now_s)
        return None if objection is None else self._stopped(objection, Layer.SERVICE)

    def _form(self, asked: Asked, buyer: Buyer) -> Ruling:
        page = self._counter.desk.form(buyer, asked.now_s)
        told = tuple((name.decode(), value.decode()) for name, value in page.headers)
        if page.outcome != "form":
            return _ruling(page)
        cookies = tuple(each for each in told if each[0] == "Set-Cookie")
        ticket = cookies[0][1].partition("=")[2].partition(";")[0]
        return Ruling(
            decision=ADMITTED,
            request_headers=((TICKET_HEADER, ticket),),
            response_headers=cookies,
        )

    def _let_on(self, order: str) -> Ruling:
        self._counter.funnel.count(Layer.SHOP, "let_on")

        def ended(outcome: Outcome) -> None:
            # What the shop did not take is free again; whoever was not asked took nothing.
            if not outcome.sent or outcome.status >= 400:
                self._counter.give_back(order)

        return Ruling(decision=ADMITTED, request_headers=((ORDER_HEADER, order),), ended=ended)

    def _stopped(self, page: Page, layer: Layer) -> Ruling:
        self._counter.funnel.count(layer, page.outcome)
        return _ruling(page)


def _ruling(page: Page) -> Ruling:
    over = page.outcome in ("ended", "sold_out")
    decision = Decision(
        verdict=Verdict.ANSWER if over else Verdict.REFUSE,
        reason=page.outcome,
        status=page.status,
        retry_after_s=1.0 if page is pages.BUSY else None,
    )
    headers = tuple((name.decode(), value.decode()) for name, value in page.headers)
    return Ruling(
        decision=decision, answer=Answer(status=page.status, headers=headers, body=page.body)
    )
