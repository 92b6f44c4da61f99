"""One sale at work on one node: its desk, its queue, its opening, and the tasks that drive them.

Made by `host` and by `enforcer` from a policy; ended when the policy is gone or has changed.
"""

import asyncio
import contextlib
import time

import structlog

from controlplane.domain.admission.flash_sale.life import Opening, Phase
from controlplane.domain.admission.flash_sale.policy import FlashSalePolicy
from gateway.admission.flash_sale.desk import Desk
from gateway.admission.flash_sale.forms_given import FormsGiven
from gateway.admission.flash_sale.funnel import Funnel
from gateway.admission.flash_sale.opening import OpeningKeeper
from gateway.admission.flash_sale.order_desk import OrderDesk
from gateway.admission.flash_sale.shop import Shop
from gateway.admission.flash_sale.stock import Stock
from gateway.admission.flash_sale.writer import Writer
from gateway.admission.opening_options import OpeningOptions
from gateway.state.shared import SharedState

log = structlog.get_logger()


class SaleCounter:
    """Where one sale is served."""

    def __init__(
        self,
        name: str,
        policy: FlashSalePolicy,
        state: SharedState,
        options: OpeningOptions | None,
    ) -> None:
        self.policy = policy
        self.funnel = Funnel()
        self._shop = Shop(name, policy)
        self.stock = Stock(name, policy, state)
        self.writer = Writer(policy, self._shop, self.stock, self.funnel)
        orders = OrderDesk(name, policy, self.stock, self.writer)
        given = FormsGiven(name, policy, None if options is None else options.folder)
        self.desk = Desk(name, policy, orders, self.writer, given)
        # Nowhere to get it from: the sale stays closed here.
        self._opening = None if options is None else OpeningKeeper(name, policy, options)
        self._giving: set[asyncio.Task[None]] = set()
        self._name = name
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Drive it until `close`."""
        self._task = asyncio.create_task(self._run())

    def phase(self) -> Phase:
        """Where the sale stands now."""
        return self.desk.phase(time.time())

    def open(self, opening: Opening) -> None:
        """Sell from now on."""
        self.desk.open(opening)
        self.writer.opened.set()

    def give_back(self, order: str) -> None:
        """Free an order's part of the stock, without waiting for it."""
        task = asyncio.create_task(self.stock.give_back(order))
        self._giving.add(task)
        task.add_done_callback(self._giving.discard)

    async def close(self) -> None:
        """End its tasks and connections."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await self._shop.close()

    async def _run(self) -> None:
        while True:
            try:
                async with asyncio.TaskGroup() as tasks:
                    if self._opening is not None:
                        tasks.create_task(self._opening.bring(self.open))
                    tasks.create_task(self.writer.run())
            except* Exception:
                # A sale that stops in its first second is worse than one that tries again.
                log.exception("flash_sale.unexpected", sale=self._name)
                await asyncio.sleep(1.0)
