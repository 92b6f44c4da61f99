import dataclasses

import pytest

from controlplane.domain.admission.flash_sale.policy import (
    Challenge,
    FlashSalePolicy,
    check_flash_sale,
)
from controlplane.domain.errors import Invalid

SALE = FlashSalePolicy(
    item="phone",
    stock=10,
    opens_at_s=10_000.0,
    ends_at_s=13_600.0,
    orders_url="http://shop.example/orders",
)
CODE = "a" * 64


def test_the_defaults_work() -> None:
    check_flash_sale(SALE)
    assert SALE.frozen_from_s == 6_400.0


@pytest.mark.parametrize(
    "changes",
    [
        {"challenge": Challenge.CODE, "codes": (CODE,)},
        {"challenge": Challenge.QUIZ},
        {"invalidate_url": "https://cache.example/phone", "user_cookie": "shop_user"},
    ],
)
def test_what_may_be_declared(changes: dict[str, object]) -> None:
    check_flash_sale(dataclasses.replace(SALE, **changes))


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("item", {"item": ""}),
        ("item", {"item": "x" * 201}),
        ("stock", {"stock": 0}),
        ("stock", {"stock": 10_000_001}),
        ("opens_at_s", {"opens_at_s": float("nan")}),
        ("ends_at_s - opens_at_s", {"ends_at_s": 10_000.0}),
        ("orders_url", {"orders_url": ""}),
        ("orders_url", {"orders_url": "shop.example"}),
        ("invalidate_url", {"invalidate_url": "ftp://shop.example"}),
        ("forms_per_node", {"forms_per_node": 0}),
        ("interval_s", {"interval_s": -1.0}),
        ("frozen_s", {"frozen_s": -1.0}),
        ("fastest_order_s", {"fastest_order_s": 61.0}),
        ("codes", {"challenge": Challenge.CODE}),
        ("codes", {"codes": (CODE,)}),
        ("codes", {"challenge": Challenge.CODE, "codes": (CODE[1:],)}),
        ("codes", {"challenge": Challenge.CODE, "codes": ("Z" * 64,)}),
        ("batch", {"batch": 0}),
        ("most_waiting", {"batch": 20, "most_waiting": 19}),
        ("write_timeout_s", {"write_timeout_s": 0.0}),
        ("replication_delay_s", {"replication_delay_s": 601.0}),
        ("user_cookie", {"user_cookie": "a b"}),
        ("user_cookie", {"user_cookie": "né"}),
        ("remembered_users", {"remembered_users": 0}),
    ],
)
def test_what_no_sale_can_go_by_is_named(field: str, changes: dict[str, object]) -> None:
    with pytest.raises(Invalid, match="flash_sale: ") as refused:
        check_flash_sale(dataclasses.replace(SALE, **changes))
    assert refused.value.code == "policy_invalid"
    assert refused.value.details == {"field": field}
