"""The queue of writes: orders wait and go to the shop in bounded batches, one at a time.

The next batch goes only after the last has succeeded; one that failed goes again as it was (an
order has one id, so twice is once). When the stock is gone everybody who waits is told so, and
nothing more goes to the shop.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from enum import StrEnum


class Fate(StrEnum):
    """What became of an order."""

    ACCEPTED = "accepted"
    SOLD_OUT = "sold_out"
    REFUSED = "refused"


class Entry(StrEnum):
    """What became of an order at the queue: `KNOWN` waits already, `FULL` finds no room."""

    QUEUED = "queued"
    KNOWN = "known"
    FULL = "full"
    SOLD_OUT = "sold_out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One order: its id, and who buys."""

    id: str
    user: str


@dataclass(slots=True)
class Orders:
    """Orders of one node that no shop has answered yet.

    Attributes:
        batch: how many go at once.
        most: how many may wait, those under way among them.
        sold_out: nothing is left. It stays so: more stock is another policy, with orders anew.
    """

    batch: int
    most: int
    sold_out: bool = False
    _waiting: OrderedDict[str, Order] = field(default_factory=OrderedDict)
    _under_way: tuple[Order, ...] = ()

    def add(self, order: Order) -> Entry:
        """Take an order in."""
        if order.id in self._waiting or order in self._under_way:
            return Entry.KNOWN
        if self.sold_out:
            return Entry.SOLD_OUT
        if len(self) >= self.most:
            return Entry.FULL
        self._waiting[order.id] = order
        return Entry.QUEUED

    def next_batch(self) -> tuple[Order, ...]:
        """What goes to the shop now: the batch that has not succeeded yet, or the oldest orders."""
        if not self._under_way:
            first = [id for id, _ in zip(self._waiting, range(self.batch), strict=False)]
            self._under_way = tuple(self._waiting.pop(id) for id in first)
        return self._under_way

    def succeeded(self) -> None:
        """The shop has answered the whole batch."""
        self._under_way = ()

    def sell_out(self) -> tuple[Order, ...]:
        """Nothing is left: take nobody in any more.

        Returns:
            Those who wait and are told so without a transaction. A batch under way is not among
            them: only the shop knows what became of it.
        """
        self.sold_out = True
        left = tuple(self._waiting.values())
        self._waiting.clear()
        return left

    def __len__(self) -> int:
        """How many have no answer yet."""
        return len(self._waiting) + len(self._under_way)
