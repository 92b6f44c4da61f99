"""One sale on one node: what each request of a buyer gets.

From cheap to dear: the script object, the last answer again, the quota of forms, the order. Called
by `host` and by `enforcer`; everything but an order is answered at once.
"""

import hmac
from collections.abc import Awaitable
from dataclasses import dataclass

from controlplane.domain.admission.flash_sale import tickets
from controlplane.domain.admission.flash_sale.forms import Forms
from controlplane.domain.admission.flash_sale.life import Opening, Phase, Standing, phase
from controlplane.domain.admission.flash_sale.policy import Challenge, FlashSalePolicy
from controlplane.domain.admission.flash_sale.replay import Replay
from gateway.admission.flash_sale import pages
from gateway.admission.flash_sale.forms_given import FormsGiven
from gateway.admission.flash_sale.funnel import Layer
from gateway.admission.flash_sale.order_desk import OrderDesk, OrderForm, read_form
from gateway.admission.flash_sale.pages import Page
from gateway.admission.flash_sale.writer import Writer

ITEM = "item"
ENDED_COOKIE = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Buyer:
    """Who asks, and what his cookie says about an earlier answer."""

    user: str
    cookie: str = ""


class Desk:
    """Answers buyers of one sale."""

    def __init__(
        self,
        name: str,
        policy: FlashSalePolicy,
        orders: OrderDesk,
        writer: Writer,
        given: FormsGiven,
    ) -> None:
        self.name = name
        self.policy = policy
        self.opening: Opening | None = None
        self.funnel = writer.funnel
        self.cookie = f"sale_{tickets.order_id(name, policy.item)[:8]}"
        ended = self._cookie(ENDED_COOKIE, max(1, round(policy.interval_s)))
        self._ended = pages.page("ended", 410, headers=(ended,))
        self._orders = orders
        self._writer = writer
        self._given = given
        self._forms = Forms(quota=policy.forms_per_node, before=given.before())
        # A reader of many users' pages is bounded like their number.
        self._users: Replay[Page] = Replay(policy.interval_s, policy.remembered_users)
        self._item: Replay[Page] = Replay(policy.interval_s, 1)
        self._script: tuple[Phase, bytes] | None = None

    def phase(self, now_s: float) -> Phase:
        """Where the sale stands here."""
        sold = self.policy.stock if self._writer.sold_out else 0
        standing = Standing(opened=self.opening is not None, sold=sold)
        return phase(self.policy, standing, now_s)

    def script(self, now_s: float) -> bytes:
        """The script object: the same bytes until the phase changes."""
        self.funnel.count(Layer.FRONT, "script")
        at = self.phase(now_s)
        if self._script is None or self._script[0] is not at:
            purchase = ""
            if at is Phase.OPEN and self.opening is not None:
                purchase = f"/sales/{self.name}/{self.opening.token}"
            times_s = (self.policy.opens_at_s, self.policy.ends_at_s)
            self._script = (at, pages.script(at, times_s, purchase))
        return self._script[1]

    def knows(self, token: str) -> bool:
        """Whether an address has the purchase token; no address does before the opening."""
        return self.opening is not None and hmac.compare_digest(
            token.encode("utf-8", "replace"), self.opening.token.encode()
        )

    def form(self, buyer: Buyer, now_s: float) -> Page:
        """A form, or why there is none."""
        last = self._last(buyer, now_s)
        if last is not None:
            self.funnel.count(Layer.SITE, last.outcome)
            return last
        told = self._new_form(buyer, now_s)
        self._users.remember(buyer.user, told, now_s)
        self.funnel.count(Layer.SERVICE, told.outcome)
        return told

    def order(self, buyer: Buyer, body: bytes, now_s: float) -> Page | Awaitable[Page]:
        """Take an order; what was decided about it within the interval is told again."""
        key = f"order {buyer.user}"
        last = self._users.last(key, now_s)
        if last is not None:
            self.funnel.count(Layer.SITE, last.outcome)
            return last
        told = self.objection(buyer, read_form(body), now_s)
        if told is None:
            return self._take(buyer, key, now_s)
        self._users.remember(key, told, now_s)
        self.funnel.count(Layer.SERVICE, told.outcome)
        return told

    def objection(self, buyer: Buyer, sent: OrderForm, now_s: float) -> Page | None:
        """Why an order is not taken; None when it is."""
        closed = self._closed(now_s)
        # When all is sold, his order may be among those: whoever has a form may ask.
        if self.opening is None or closed not in (None, pages.SOLD_OUT):
            return closed or pages.NOT_HERE
        return self._orders.objection(self.opening, buyer.user, sent, now_s)

    def open(self, opening: Opening) -> None:
        """Sell from now on: what was told before no longer counts."""
        self.opening = opening
        self._users.forget()
        self._item.forget()

    def _last(self, buyer: Buyer, now_s: float) -> Page | None:
        last = self._users.last(buyer.user, now_s)
        if last is not None:
            return last
        # He has a form of this node or of another: the item's answer is not his.
        if buyer.user in self._forms.holders or "." in buyer.cookie:
            return None
        if buyer.cookie == ENDED_COOKIE:
            return self._ended
        return self._item.last(ITEM, now_s)

    def _new_form(self, buyer: Buyer, now_s: float) -> Page:
        closed = self._closed(now_s)
        if closed is not None:
            self._item.remember(ITEM, closed, now_s)
            return closed
        assert self.opening is not None
        given_ms = tickets.given_ms(self.opening.key, buyer.user, buyer.cookie)
        if given_ms is None:
            given_ms = self._form_of(buyer.user, int(now_s * 1_000))
        if given_ms is None:
            # Everybody who comes now would be told the same.
            self._item.remember(ITEM, self._ended, now_s)
            return self._ended
        ticket = tickets.ticket(self.opening.key, buyer.user, given_ms)
        return pages.form(ticket, self._question(self.opening, buyer.user), self._kept(ticket))

    def _form_of(self, user: str, now_ms: int) -> int | None:
        before = len(self._forms.holders)
        given_ms = self._forms.take(user, now_ms)
        if len(self._forms.holders) > before:
            self._given.one_more()
        return given_ms

    async def _take(self, buyer: Buyer, key: str, now_s: float) -> Page:
        told = await self._orders.take(buyer.user)
        # Who is told to come again is answered anew when he does.
        if told not in (pages.BUSY, pages.PENDING):
            self._users.remember(key, told, now_s)
        asked_shop = told.outcome in ("accepted", "refused")
        self.funnel.count(Layer.SHOP if asked_shop else Layer.SERVICE, told.outcome)
        return told

    def _closed(self, now_s: float) -> Page | None:
        at = self.phase(now_s)
        if at is Phase.OPEN:
            return None
        if at is Phase.SOLD_OUT:
            return pages.SOLD_OUT
        return pages.ENDED if at is Phase.ENDED else pages.NOT_HERE

    def _question(self, opening: Opening, user: str) -> str:
        if self.policy.challenge is Challenge.QUIZ:
            return tickets.question(opening.key, user).text
        return "code" if self.policy.challenge is Challenge.CODE else ""

    def _kept(self, value: str) -> tuple[bytes, bytes]:
        age_s = round(self.policy.ends_at_s - self.policy.opens_at_s)
        return self._cookie(value, age_s)

    def _cookie(self, value: str, age_s: int) -> tuple[bytes, bytes]:
        path = f"/sales/{self.name}"
        text = f"{self.cookie}={value}; Max-Age={age_s}; Path={path}; HttpOnly; SameSite=Lax"
        return (b"Set-Cookie", text.encode())
