"""/v1/sales: no secret before the opening, to nobody but gateways after it."""

from dataclasses import replace
from datetime import UTC, datetime

import httpx

from controlplane.domain.access import AccessRole
from controlplane.domain.admission.flash_sale.policy import FlashSalePolicy
from controlplane.domain.admission.policy import Policy
from tests import builders
from tests.api.house import House

OPENING = "/v1/sales/phones/opening"


def bearer(house: House, role: AccessRole) -> dict[str, str]:
    return {"Authorization": f"Bearer {house.secrets[role]}"}


async def declare(house: House) -> None:
    now_s = house.clock.now()
    sale = FlashSalePolicy(
        item="phone",
        stock=10,
        opens_at_s=now_s + 100,
        ends_at_s=now_s + 1_000,
        orders_url="http://shop.example/orders",
    )
    policies = (Policy(name="phones", flash_sale=sale),)
    await house.declare(replace(builders.fleet(), policies=policies))


async def test_an_opening_is_for_gateways_and_from_its_moment_on(
    house: House, admin: httpx.AsyncClient
) -> None:
    await declare(house)
    gateway = bearer(house, AccessRole.GATEWAY)
    early = await admin.get(OPENING, headers=gateway)
    assert (early.status_code, early.json()["code"]) == (425, "sale_not_open")
    assert early.json()["details"]["opens_in_s"] == 100
    assert early.headers["Retry-After"] == "100"
    house.clock.time_s += 100
    opened = await admin.get(OPENING, headers=gateway)
    assert opened.status_code == 200
    assert opened.headers["Cache-Control"] == "no-store"
    for role in (AccessRole.VIEWER, AccessRole.OPERATOR, AccessRole.SCIENTIST, AccessRole.MONITOR):
        assert (await admin.get(OPENING, headers=bearer(house, role))).status_code == 403
    (listed,) = (await admin.get("/v1/sales")).json()["items"]
    assert (listed["phase"], listed["frozen"], listed["stock"]) == ("open", True, 10)
    assert opened.json()["token"] not in str(listed)
    assert (await admin.get("/v1/sales/phones")).json() == listed
    assert (await admin.get("/v1/sales/others")).json()["code"] == "sale_not_found"


async def test_a_correction_is_proposed_and_approved_by_another(
    house: House, admin: httpx.AsyncClient
) -> None:
    await declare(house)
    at = datetime.fromtimestamp(house.clock.now() + 200, UTC)
    body = {"fields": {"stock": "9", "opens_at": at.isoformat()}, "reason": "one is broken"}
    made = await admin.post("/v1/sales/phones/corrections", json=body)
    assert made.status_code == 201, made.text
    assert made.json()["fields"]["opens_at_s"] == f"{house.clock.now() + 200:.15g}"
    assert made.json()["reviewer"] is None
    path = f"/v1/sales:corrections/{made.json()['id']}:approve"
    own = await admin.post(path)
    assert (own.status_code, own.json()["code"]) == (403, "correction_unreviewed")
    other = await admin.post(path, headers=bearer(house, AccessRole.OPERATOR))
    assert other.json()["reviewer"]
    (listed,) = (await admin.get("/v1/sales/phones/corrections")).json()["items"]
    assert listed == other.json()
    for wrong in ("soon", "2030-12-31T08:00:00"):
        refused = await admin.post(
            "/v1/sales/phones/corrections", json={"fields": {"ends_at": wrong}, "reason": "x"}
        )
        assert (refused.status_code, refused.json()["code"]) == (422, "correction_invalid")
