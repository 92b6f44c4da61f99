"""What a flash sale declares. Part of the fleet; read by gateways and by the control plane.

Nothing here is secret: the purchase token is made at the opening and is no part of the policy.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.errors import Invalid

MOST_STOCK = 10_000_000
MOST_FORMS = 1_000_000
MOST_BATCH = 1_000
MOST_WAITING = 100_000
MOST_REMEMBERED = 1_000_000
LONGEST_INTERVAL_S = 3_600.0
LONGEST_SALE_S = 30 * 86_400.0


class Challenge(StrEnum):
    """What a buyer has to show with his order.

    `QUIZ` is a small sum that is made for this sale, and differs from user to user; `CODE` is a
    word that is announced elsewhere (on air, in the app) and of which the policy has digests.
    """

    NONE = "none"
    QUIZ = "quiz"
    CODE = "code"


class WithoutState(StrEnum):
    """What becomes of orders while the state that nodes share is away.

    `NODE`: each node goes on with its own quota, the shop's stock decides; `REFUSE`: buyers are
    told to come again.
    """

    NODE = "node"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlashSalePolicy:
    """One item, for sale from one moment on.

    Attributes:
        item: what is sold, as the shop names it.
        stock: how many there are, 1 to 10,000,000.
        opens_at_s, ends_at_s: seconds of Unix time; at most 30 days lie between.
        orders_url: where the shop takes batches of orders.
        forms_per_node: how many order forms each node gives out, 1 to 1,000,000. Nodes times this
            should be a few times the stock: not everybody who has a form sends it.
        interval_s: within this time a user, or the query of the item, gets the last answer again,
            0 to 3,600 seconds.
        frozen_s: the item is frozen for editing from that long before the opening.
        fastest_order_s: an order that comes sooner after its form than a person can is challenged
            like a wrong answer; 0 does not ask.
        challenge: what a buyer has to show with his order.
        codes: SHA-256 in hexadecimal of the codes that are announced, for `CODE`.
        batch: how many orders go to the shop at once, 1 to 1,000; the next batch goes when the
            last has succeeded.
        most_waiting: how many orders may wait for that on one node, 1 to 100,000.
        write_timeout_s: the shop's time for one batch; then the same batch is sent again.
        invalidate_url: told before each write and again `replication_delay_s` after it, so that
            no cache keeps what a replica still had; "" is nobody.
        user_cookie: names the user; a request without it has no user and buys nothing.
        remembered_users: of how many users a node knows the last answer, 1 to 1,000,000.
        without_state: what becomes of orders while shared state is away.
    """

    item: str
    stock: int
    opens_at_s: float
    ends_at_s: float
    orders_url: str
    forms_per_node: int = 10
    interval_s: float = 5.0
    frozen_s: float = 3_600.0
    fastest_order_s: float = 0.0
    challenge: Challenge = Challenge.NONE
    codes: tuple[str, ...] = ()
    batch: int = 20
    most_waiting: int = 10_000
    write_timeout_s: float = 2.0
    invalidate_url: str = ""
    replication_delay_s: float = 1.0
    user_cookie: str = "sid"
    remembered_users: int = 100_000
    without_state: WithoutState = WithoutState.NODE

    @property
    def frozen_from_s(self) -> float:
        """From when on the item is frozen, seconds of Unix time."""
        return self.opens_at_s - self.frozen_s


def check_flash_sale(policy: FlashSalePolicy) -> None:
    """Refuse what no sale can go by.

    Raises:
        Invalid: `policy_invalid`, with the field, its limit and what to do.
    """
    _named(policy)
    _within("stock", policy.stock, (1, MOST_STOCK))
    _within("forms_per_node", policy.forms_per_node, (1, MOST_FORMS))
    _within("batch", policy.batch, (1, MOST_BATCH))
    _within("most_waiting", policy.most_waiting, (policy.batch, MOST_WAITING))
    _within("remembered_users", policy.remembered_users, (1, MOST_REMEMBERED))
    _within("interval_s", policy.interval_s, (0, LONGEST_INTERVAL_S))
    _within("frozen_s", policy.frozen_s, (0, LONGEST_SALE_S))
    _within("fastest_order_s", policy.fastest_order_s, (0, 60))
    _within("write_timeout_s", policy.write_timeout_s, (0.05, 60))
    _within("replication_delay_s", policy.replication_delay_s, (0, 600))
    _within("opens_at_s", policy.opens_at_s, (0, 1e11))
    _within("ends_at_s - opens_at_s", policy.ends_at_s - policy.opens_at_s, (1, LONGEST_SALE_S))
    _challenged(policy)


def _named(policy: FlashSalePolicy) -> None:
    if not policy.item or len(policy.item) > 200:
        raise _invalid("item", "has 1 to 200 characters: name it as the shop does")
    for field, url in (
        ("orders_url", policy.orders_url),
        ("invalidate_url", policy.invalidate_url),
    ):
        needed = field == "orders_url"
        if (needed or url) and not url.startswith(("http://", "https://")):
            raise _invalid(field, "is no http:// or https:// address: give the shop's")
    if not policy.user_cookie.isascii() or not policy.user_cookie.replace("_", "a").isalnum():
        raise _invalid("user_cookie", "is no name of ASCII letters, digits and _: correct it")


def _challenged(policy: FlashSalePolicy) -> None:
    if (policy.challenge is Challenge.CODE) != bool(policy.codes):
        raise _invalid("codes", "belong to the challenge `code`, and it needs at least one")
    for code in policy.codes:
        if len(code) != 64 or not set(code) <= set("0123456789abcdef"):
            raise _invalid("codes", "are SHA-256 digests in lower-case hexadecimal, 64 digits each")


def _within(field: str, value: float, limits: tuple[float, float]) -> None:
    least, most = limits
    if not math.isfinite(value) or not least <= value <= most:
        raise _invalid(field, f"is {value:g}, from {least:g} to {most:g} it may be: change it")


def _invalid(field: str, words: str) -> Invalid:
    return Invalid("policy_invalid", f"flash_sale: {field} {words}", {"field": field})
