"""The kind `flash_sale` of an admission policy: what is sold, when, and how it is let through."""

import re

from controlplane.api.fleet_document.policies.specs import listing
from controlplane.api.fleet_document.reading import (
    Place,
    choice,
    fields,
    integer,
    matching,
    number,
)
from controlplane.api.fleet_document.times import time
from controlplane.domain.admission.flash_sale.policy import (
    LONGEST_INTERVAL_S,
    LONGEST_SALE_S,
    MOST_BATCH,
    MOST_FORMS,
    MOST_REMEMBERED,
    MOST_STOCK,
    MOST_WAITING,
    Challenge,
    FlashSalePolicy,
    WithoutState,
)

FLASH_SALE_KEYS = (
    *("item", "stock", "opens_at", "ends_at", "orders_url", "forms_per_node", "interval_s"),
    *("frozen_s", "fastest_order_s", "challenge", "codes", "batch", "most_waiting"),
    *("write_timeout_s", "invalidate_url", "replication_delay_s", "user_cookie"),
    *("remembered_users", "without_state"),
)
ITEM = matching(re.compile(r"[^\x00-\x1f]{1,200}"), "a name of 1 to 200 characters")
ADDRESS = matching(re.compile(r"https?://\S{1,2000}", re.ASCII), "an http:// or https:// address")
COOKIE = matching(re.compile(r"[A-Za-z0-9_]{1,64}", re.ASCII), "ASCII letters, digits and _")
DIGEST = matching(re.compile(r"[0-9a-f]{64}", re.ASCII), "a SHA-256 digest in lower-case digits")
USUAL = FlashSalePolicy(item="", stock=1, opens_at_s=0.0, ends_at_s=0.0, orders_url="")
WHOLE = {
    "forms_per_node": MOST_FORMS,
    "batch": MOST_BATCH,
    "most_waiting": MOST_WAITING,
    "remembered_users": MOST_REMEMBERED,
}
SECONDS = {
    "interval_s": LONGEST_INTERVAL_S,
    "frozen_s": LONGEST_SALE_S,
    "fastest_order_s": 60.0,
    "write_timeout_s": 60.0,
    "replication_delay_s": 600.0,
}


def flash_sale(place: Place) -> FlashSalePolicy:
    """Read one sale; codes come in order, because theirs means nothing."""
    entries = fields(place, FLASH_SALE_KEYS)
    numbers = {
        name: entries.optional(name, integer(1, most), getattr(USUAL, name))
        for name, most in WHOLE.items()
    }
    times = {
        name: entries.optional(name, number(0, most), getattr(USUAL, name))
        for name, most in SECONDS.items()
    }
    return FlashSalePolicy(
        item=entries.required("item", ITEM, ""),
        stock=entries.required("stock", integer(1, MOST_STOCK), 1),
        opens_at_s=entries.required("opens_at", time, 0.0),
        ends_at_s=entries.required("ends_at", time, 0.0),
        orders_url=entries.required("orders_url", ADDRESS, ""),
        challenge=entries.optional("challenge", choice(Challenge), USUAL.challenge),
        codes=tuple(sorted(entries.optional("codes", listing(DIGEST), USUAL.codes))),
        invalidate_url=entries.optional("invalidate_url", ADDRESS, USUAL.invalidate_url),
        user_cookie=entries.optional("user_cookie", COOKIE, USUAL.user_cookie),
        without_state=entries.optional("without_state", choice(WithoutState), USUAL.without_state),
        **numbers,
        **times,
    )
