"""Sales on a port of their own, beside the rest of the site and not in its way.

    GET  /time                      the server's time, for countdowns
    GET  /sales/NAME/script.js      the script object: where the sale stands, and once it is open
                                    the purchase address
    GET  /sales/NAME/TOKEN/form     an order form, or why there is none
    POST /sales/NAME/TOKEN/order    an order

Answers come from `direct_http`: nothing is forwarded from here, and only orders wait.
"""

import time
from collections.abc import Awaitable, Mapping

from controlplane.domain.admission.flash_sale.policy import FlashSalePolicy
from gateway import clock
from gateway.admission.flash_sale import pages
from gateway.admission.flash_sale.counter import SaleCounter
from gateway.admission.flash_sale.desk import Buyer, Desk
from gateway.admission.flash_sale.funnel import Layer
from gateway.admission.flash_sale.pages import Page
from gateway.admission.opening_options import OpeningOptions
from gateway.direct_http import Call
from gateway.state.shared import SharedState

LONGEST_USER = 200


class SaleHost:
    """All sales of one node."""

    def __init__(self, state: SharedState, options: OpeningOptions) -> None:
        self._state = state
        self._options = options
        self.counters: dict[str, SaleCounter] = {}

    async def take(self, sales: Mapping[str, FlashSalePolicy]) -> None:
        """Serve these from now on; one that has not changed goes on as it is."""
        over = {
            name: counter
            for name, counter in self.counters.items()
            if sales.get(name) != counter.policy
        }
        for name, counter in over.items():
            del self.counters[name]
            await counter.close()
        for name, policy in sales.items():
            if name not in self.counters:
                counter = SaleCounter(name, policy, self._state, self._options)
                self.counters[name] = counter
                counter.start()

    async def close(self) -> None:
        """End all sales."""
        await self.take({})

    def answer(self, call: Call) -> bytes | Awaitable[bytes]:
        """The answer to one request of a buyer."""
        if call.target == clock.PATH:
            return clock.answer(call)
        path = call.target.partition(b"?")[0].decode("latin-1").split("/")
        if len(path) < 4 or path[1] != "sales" or (counter := self.counters.get(path[2])) is None:
            return pages.NOT_HERE.wired
        if len(path) == 4 and path[3] == "script.js":
            if call.method != b"GET":
                return pages.NOT_ALLOWED.wired
            return counter.desk.script(time.time())
        return _purchase(counter.desk, call, path[3:])


def _purchase(desk: Desk, call: Call, path: list[str]) -> bytes | Awaitable[bytes]:
    if len(path) != 2 or path[1] not in ("form", "order") or not desk.knows(path[0]):
        return _stopped(desk, pages.NOT_HERE)
    if call.method != (b"GET" if path[1] == "form" else b"POST"):
        return _stopped(desk, pages.NOT_ALLOWED)
    buyer = buyer_of(desk, call.header(b"cookie").decode("latin-1"))
    if not buyer.user:
        return _stopped(desk, pages.NO_USER)
    now_s = time.time()
    if path[1] == "form":
        return desk.form(buyer, now_s).wired
    told = desk.order(buyer, call.body, now_s)
    return told.wired if isinstance(told, Page) else _wired(told)


def buyer_of(desk: Desk, cookies: str) -> Buyer:
    """Who asks, from the text of the `Cookie` header; a user that is too long is none."""
    found: dict[str, str] = {}
    for each in cookies.split(";"):
        name, _, value = each.strip().partition("=")
        found.setdefault(name, value)
    user = found.get(desk.policy.user_cookie, "")
    return Buyer(user=user if len(user) <= LONGEST_USER else "", cookie=found.get(desk.cookie, ""))


def _stopped(desk: Desk, page: Page) -> bytes:
    desk.funnel.count(Layer.SITE, page.outcome)
    return page.wired


async def _wired(told: Awaitable[Page]) -> bytes:
    return (await told).wired
