"""Sends the orders of one sale to the shop, batch after batch, and tells each buyer his fate.

One task. A batch that got no answer goes again as it was; nobody's order is dropped, and nobody is
told "accepted" before the shop has said so.
"""

import asyncio
import contextlib
import time

import structlog

from controlplane.domain.admission.flash_sale.orders import Entry, Fate, Order, Orders
from controlplane.domain.admission.flash_sale.policy import FlashSalePolicy
from controlplane.domain.errors import Retryable
from gateway.admission.flash_sale.funnel import Funnel
from gateway.admission.flash_sale.shop import Shop, Written
from gateway.admission.flash_sale.stock import Stock

log = structlog.get_logger()

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 1.0
# Other nodes' news is asked for so often; the shop is asked when nothing moved for so long.
NEWS_S, LATE_NEWS_S, LULL_S = 0.2, 1.0, 10.0


class Writer:
    """The queue of one sale at work."""

    def __init__(self, policy: FlashSalePolicy, shop: Shop, stock: Stock, funnel: Funnel) -> None:
        self._policy = policy
        self._shop = shop
        self._stock = stock
        self.funnel = funnel
        self._orders = Orders(batch=policy.batch, most=policy.most_waiting)
        self._fates: dict[str, asyncio.Future[Fate]] = {}
        self._wake = asyncio.Event()
        # Nobody has news of a sale before it is open.
        self.opened = asyncio.Event()
        self._moved = False

    @property
    def sold_out(self) -> bool:
        """Nothing is left."""
        return self._orders.sold_out

    @property
    def waiting(self) -> int:
        """Orders without an answer."""
        return len(self._orders)

    def add(self, order: Order) -> tuple[Entry, asyncio.Future[Fate] | None]:
        """Take an order in; its fate comes with the future, which many may await."""
        entry = self._orders.add(order)
        if entry is Entry.QUEUED:
            self._fates[order.id] = asyncio.get_running_loop().create_future()
            self._wake.set()
        return entry, self._fates.get(order.id)

    async def ask(self, order: Order) -> Fate:
        """What became of an order that another node may have sent; past the queue.

        Raises:
            Retryable: the shop does not say.
        """
        return (await self._shop.write((order,))).fates[order.id]

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._write())
            tasks.create_task(self._hear())
            tasks.create_task(self._recover())

    async def _write(self) -> None:
        pause_s = FIRST_PAUSE_S
        while True:
            batch = self._orders.next_batch()
            if not batch:
                self._wake.clear()
                await self._wake.wait()
                continue
            await self._shop.forget()
            try:
                written = await self._shop.write(batch)
            except Retryable as error:
                self.funnel.failed_batches += 1
                log.warning("flash_sale.batch_failed", orders=len(batch), why=error.message[:200])
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
                continue
            pause_s = FIRST_PAUSE_S
            await self._conclude(batch, written)

    async def _conclude(self, batch: tuple[Order, ...], written: Written) -> None:
        self.funnel.batches += 1
        self._moved = True
        self._orders.succeeded()
        self._know(written.left)
        for order in batch:
            self._tell(order, written.fates[order.id])
        self._shop.forget_again()
        if written.left <= 0:
            self._close()
            await self._stock.sell_out()
            return
        for order in batch:
            if written.fates[order.id] is not Fate.ACCEPTED:
                await self._stock.give_back(order.id)

    async def _hear(self) -> None:
        await self.opened.wait()
        await self._stock.begin()
        while True:
            over = time.time() >= self._policy.ends_at_s
            await asyncio.sleep(LATE_NEWS_S if self.sold_out or over else NEWS_S)
            # What is over by a clock that is wrong goes on when it has been put right.
            if over:
                continue
            if await self._stock.look() and not self.sold_out:
                self._close()

    async def _recover(self) -> None:
        # A node that died between its part and the shop has left a hole in the shared count.
        await self.opened.wait()
        while True:
            await asyncio.sleep(LULL_S)
            moved, self._moved = self._moved, False
            if self.sold_out or moved or self.waiting:
                continue
            with contextlib.suppress(Retryable):
                self._know((await self._shop.write(())).left)
                if self._stock.sold >= self._policy.stock:
                    self._close()
                    await self._stock.sell_out()
                else:
                    await self._stock.release()

    def _know(self, left: int) -> None:
        self._stock.sold = max(0, self._policy.stock - left)

    def _close(self) -> None:
        for order in self._orders.sell_out():
            self._tell(order, Fate.SOLD_OUT)

    def _tell(self, order: Order, fate: Fate) -> None:
        future = self._fates.pop(order.id, None)
        if future is not None and not future.done():
            future.set_result(fate)
