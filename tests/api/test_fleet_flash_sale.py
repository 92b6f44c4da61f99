"""The kind `flash_sale` of a fleet document, and its page."""

from dataclasses import replace

import pytest

from controlplane.api.fleet_document.parsing import parse
from controlplane.api.fleet_document.policies.flash_sale import FLASH_SALE_KEYS
from controlplane.api.fleet_document.rendering import render
from controlplane.domain.admission.flash_sale.policy import Challenge, FlashSalePolicy, WithoutState
from controlplane.domain.admission.policy import Policy, PolicyKind, check_policy
from controlplane.domain.errors import Invalid
from controlplane.domain.fleet_order import normalized
from tests import builders
from tests.api.test_caller_pages import DOCS, blocks

PAGE = (DOCS / "flash-sale.md").read_text(encoding="utf-8")
LEAST = FlashSalePolicy(
    item="phone-9",
    stock=10,
    opens_at_s=1_920_628_800.0,
    ends_at_s=1_920_632_400.5,
    orders_url="http://127.0.0.1:8090/orders",
)
FULL = replace(
    LEAST,
    forms_per_node=7,
    interval_s=2.5,
    frozen_s=60.0,
    fastest_order_s=0.5,
    challenge=Challenge.CODE,
    codes=("0" * 64, "a" * 64),
    batch=5,
    most_waiting=50,
    write_timeout_s=1.0,
    invalidate_url="https://cache.example/phone-9",
    replication_delay_s=0.5,
    user_cookie="shop_user",
    remembered_users=1_000,
    without_state=WithoutState.REFUSE,
)


@pytest.mark.parametrize("sale", [LEAST, FULL])
def test_a_sale_writes_and_reads_back(sale: FlashSalePolicy) -> None:
    fleet = normalized(replace(builders.fleet(), policies=(Policy(name="x", flash_sale=sale),)))
    assert parse(render(fleet)) == fleet


@pytest.mark.parametrize(
    ("keys", "path"),
    [
        ("item: phone", "stock"),
        ("item: phone, stock: 0", "stock"),
        ("item: phone, stock: 1, opens_at: soon", "opens_at"),
        ("item: phone, stock: 1, orders_url: shop", "orders_url"),
        ("item: phone, stock: 1, token: secret", "token"),
    ],
)
def test_what_nobody_can_read_is_an_error_with_its_place(keys: str, path: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse(
            "datacenters: [{name: a, role: primary, region: x}]\n"
            f"policies: [{{name: p, flash_sale: {{{keys}}}}}]\n"
        )
    errors = caught.value.details["errors"]
    assert isinstance(errors, list)
    assert f"policies[0].flash_sale.{path}" in {error["path"] for error in errors}


def test_the_page_names_every_key_and_its_example_reads() -> None:
    assert [key for key in FLASH_SALE_KEYS if f"`{key}`" not in PAGE] == []
    (text,) = blocks(PAGE, "yaml")
    (policy,) = parse(text).policies
    check_policy(policy)
    assert policy.kind is PolicyKind.FLASH_SALE
