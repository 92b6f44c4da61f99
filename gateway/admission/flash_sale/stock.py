"""What the nodes of a sale share: how many orders were let through, and that nothing is left.

The count never passes the stock, and an order takes its part once however often it is sent. It
spares the shop: whether something is sold is decided by the shop's stock alone.
"""

import contextlib
import secrets

from controlplane.domain.admission.flash_sale.policy import FlashSalePolicy, WithoutState
from controlplane.domain.errors import Retryable
from gateway.state.keys import key
from gateway.state.ports import Bounds, Counters, Values
from gateway.state.shared import SharedState

# Parts stay for a day after the sale, for whoever sends an order again.
KEPT_S = 86_400.0
LOST = b"lost"


class Stock:
    """The shared part of one sale."""

    def __init__(self, name: str, policy: FlashSalePolicy, state: SharedState) -> None:
        self._policy = policy
        self._counters: Counters = state.counters
        self._values: Values = state.values
        self._name = name
        # Another sale of the same name, or more stock, starts anew.
        self._sale = f"{policy.item} {policy.opens_at_s!r}"
        self._gone = key(name, self._sale, "gone", str(policy.stock))
        self._submitted = key(name, self._sale, "submitted")
        # Says whether what is there is what was there at the opening.
        self._mark = key(name, self._sale, "mark")
        self._seen: bytes | None = None
        self.sold = 0
        self.away = False

    async def take(self, order: str) -> bool:
        """Whether an order may go to the shop: it has its part already, or one is left.

        Raises:
            Retryable: shared state is away, and the policy refuses orders then.
        """
        part = self._part(order)
        try:
            if not await self._values.compare_and_set(part, None, b"1", self._ttl_s):
                return True
            bounds = Bounds(high=self._policy.stock, start=self.sold, ttl_s=self._ttl_s)
            counted = await self._counters.add(self._submitted, 1, bounds)
            if not counted.added:
                await self._values.compare_and_set(part, b"1", None)
            self.away = False
            return counted.added
        except Retryable:
            self.away = True
            if self._policy.without_state is WithoutState.REFUSE:
                raise
            return True

    async def begin(self) -> None:
        """Leave a mark in the shared state, or read the one that another node has left."""
        with contextlib.suppress(Retryable):
            mine = secrets.token_hex(8).encode()
            await self._values.compare_and_set(self._mark, None, mine, self._ttl_s)
            self._seen = await self._values.get(self._mark)

    async def may_have(self, order: str) -> bool:
        """Whether an order may have been let through; True also while nobody can tell."""
        try:
            if await self._values.get(self._part(order)) is not None:
                return True
            mark = await self._values.get(self._mark)
        except Retryable:
            return True
        return mark in (None, LOST) or mark != self._seen

    async def give_back(self, order: str) -> None:
        """An order came to nothing: its part is free again."""
        with contextlib.suppress(Retryable):
            if await self._values.compare_and_set(self._part(order), b"1", None):
                await self._counters.add(self._submitted, -1, Bounds(low=0, ttl_s=self._ttl_s))

    async def release(self) -> None:
        """Let through again as many as the shop has left: parts of dead nodes are lost else.

        Only for a moment in which nothing was let through for long; one too many costs the shop a
        comparison, never an item.
        """
        with contextlib.suppress(Retryable):
            bounds = Bounds(low=self.sold, start=self.sold, ttl_s=self._ttl_s)
            counted = await self._counters.add(self._submitted, 0, bounds)
            if counted.value > self.sold:
                await self._counters.add(self._submitted, self.sold - counted.value, bounds)

    async def sell_out(self) -> None:
        """Tell the other nodes that nothing is left."""
        with contextlib.suppress(Retryable):
            await self._values.set(self._gone, b"1", self._ttl_s)

    async def look(self) -> bool:
        """Whether a node has said that nothing is left; False while nobody can tell.

        A mark that is another one says that the state was lost: all nodes are told so.
        """
        try:
            if self._seen is None:
                await self.begin()
            elif await self._values.get(self._mark) != self._seen:
                await self._values.set(self._mark, LOST, self._ttl_s)
                self._seen = LOST
            return await self._values.get(self._gone) is not None
        except Retryable:
            return False

    def _part(self, order: str) -> str:
        return key(self._name, self._sale, "part", order)

    @property
    def _ttl_s(self) -> float:
        return self._policy.ends_at_s - self._policy.opens_at_s + KEPT_S
