"""Who is stopped where: counts of one sale on one node, layer by layer.

Every request counts once, at the layer that answered it: the front (the script object), the site
(last answers again, wrong addresses, no user), the service (forms, checks, queue), the shop.
"""

from collections import Counter
from enum import StrEnum


class Layer(StrEnum):
    """Where a request was answered."""

    FRONT = "front"
    SITE = "site"
    SERVICE = "service"
    SHOP = "shop"


class Funnel:
    """Counts since the start of the node."""

    def __init__(self) -> None:
        self.answered: Counter[tuple[Layer, str]] = Counter()
        self.batches = 0
        self.failed_batches = 0

    def count(self, layer: Layer, outcome: str) -> None:
        """One request was answered here."""
        self.answered[layer, outcome] += 1
