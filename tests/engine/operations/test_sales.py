"""Flash sales of the control plane: openings, and what may be edited when."""

import asyncio
from dataclasses import replace

import pytest
import structlog

from controlplane.domain.access import AccessRole, Principal
from controlplane.domain.admission.flash_sale.life import Phase
from controlplane.domain.admission.flash_sale.policy import FlashSalePolicy
from controlplane.domain.admission.policy import Mode, Policy
from controlplane.domain.errors import (
    Conflict,
    ControlPlaneError,
    Invalid,
    NotFound,
    Refused,
    Retryable,
)
from controlplane.engine.operations.items import Items, Kind, shown
from controlplane.engine.operations.sales import SaleParts, Sales
from tests import builders
from tests.builders import OPERATOR
from tests.engine.rig import Rig
from tests.fakes.fleets import MemoryAuditLog, Outage
from tests.fakes.operations import memory_operations

BOB = Principal(token_id="t-bob", name="bob", role=AccessRole.OPERATOR)


class Desk:
    """Sales on stores in memory; `again` is the process after a restart."""

    def __init__(self, rig: Rig | None = None) -> None:
        self.rig = rig or Rig()
        self.audit, self.outage = MemoryAuditLog(), Outage()
        self.stores = memory_operations(self.audit, self.outage)
        self.sales = self._sales()

    def _sales(self) -> Sales:
        instruments = self.rig.instruments
        self.openings = Items(
            Kind(word="sale-opening", name_of=lambda one: one.sale, shown=lambda one: one.sale),
            self.stores.openings,
            instruments,
        )
        self.corrections = Items(
            Kind(word="sale-correction", name_of=lambda one: one.id, shown=shown),
            self.stores.corrections,
            instruments,
        )
        parts = SaleParts(
            fleets=self.rig.fleets, openings=self.openings, corrections=self.corrections
        )
        return Sales(parts, instruments)

    async def again(self) -> None:
        self.sales = self._sales()
        await self.openings.restore()
        await self.corrections.restore()

    def policy(self, **changes: object) -> Policy:
        now_s = self.rig.clock.now()
        sale = FlashSalePolicy(
            item="phone",
            stock=10,
            opens_at_s=now_s + 100,
            ends_at_s=now_s + 1_000,
            orders_url="http://shop.example/orders",
            frozen_s=50,
        )
        return Policy(name="phones", flash_sale=replace(sale, **changes))

    async def declare(self, *policies: Policy) -> list[str]:
        fleet = replace(builders.fleet(), policies=policies)
        change = await self.rig.fleets.apply(fleet, OPERATOR, force=True)
        return [one.route for one in change.held]


async def refusal(desk: Desk, name: str = "phones") -> ControlPlaneError:
    with pytest.raises(ControlPlaneError) as caught:
        await desk.sales.opening(name)
    return caught.value


async def test_before_the_opening_there_is_nothing_to_find() -> None:
    desk = Desk()
    await desk.declare(desk.policy())
    desk.rig.clock.time_s += 99.5
    error = await refusal(desk)
    assert isinstance(error, Retryable)
    assert (error.code, error.details["opens_in_s"]) == ("sale_not_open", 0.5)
    assert await desk.stores.openings.all() == {}
    (sale,) = desk.sales.all()
    assert (sale.phase, sale.frozen, sale.opened_at_s) == (Phase.SCHEDULED, True, None)


async def test_an_opening_is_made_once_and_outlives_the_process() -> None:
    desk = Desk()
    await desk.declare(desk.policy())
    desk.rig.clock.time_s += 100
    assert desk.sales.named("phones").phase is Phase.WAITING
    with structlog.testing.capture_logs() as logs:
        made, same = await asyncio.gather(
            desk.sales.opening("phones"), desk.sales.opening("phones")
        )
    assert made == same
    assert len(made.token) == len(made.key) == 43
    assert made.token != made.key
    assert desk.sales.named("phones").phase is Phase.OPEN
    for secret in (made.token, made.key):
        assert secret not in str(logs)
        assert secret not in str(await desk.audit.recent(100))
    await desk.again()
    assert await desk.sales.opening("phones") == made


async def test_sales_open_by_themselves_in_their_moment() -> None:
    desk = Desk()
    await desk.declare(desk.policy())
    running = asyncio.create_task(desk.sales.run())
    await asyncio.sleep(0.05)
    assert await desk.stores.openings.all() == {}
    desk.rig.clock.time_s += 100
    async with asyncio.timeout(5):
        while not await desk.stores.openings.all():
            await asyncio.sleep(0.02)
    running.cancel()
    assert desk.sales.named("phones").opened_at_s == desk.rig.clock.now()


async def test_no_store_no_opening() -> None:
    desk = Desk()
    await desk.declare(desk.policy())
    desk.rig.clock.time_s += 100
    desk.outage.away = True
    assert (await refusal(desk)).code == "store_unavailable"
    desk.outage.away = False
    assert await desk.sales.opening("phones")


async def test_another_sale_of_the_name_has_another_token() -> None:
    desk = Desk()
    await desk.declare(desk.policy(frozen_s=0))
    desk.rig.clock.time_s += 100
    first = await desk.sales.opening("phones")
    desk.rig.clock.time_s += 1_000
    over = await refusal(desk)
    assert isinstance(over, Conflict)
    assert over.code == "sale_over"
    await desk.declare(desk.policy())
    desk.rig.clock.time_s += 100
    assert (await desk.sales.opening("phones")).token != first.token


async def test_what_is_not_declared_or_off_is_no_sale() -> None:
    desk = Desk()
    assert isinstance(await refusal(desk), NotFound)
    await desk.declare(replace(desk.policy(), mode=Mode.OFF))
    assert isinstance(await refusal(desk), NotFound)


async def test_a_frozen_sale_changes_by_a_correction_that_somebody_else_reviewed() -> None:
    desk = Desk()
    policy = desk.policy()
    assert policy.flash_sale is not None
    await desk.declare(policy)
    desk.rig.clock.time_s += 60
    less = replace(policy, flash_sale=replace(policy.flash_sale, stock=9))
    assert await desk.declare(less) == ["policy/phones"]
    assert desk.rig.fleets.current.fleet.policies == (policy,)
    (finding,) = desk.rig.findings.standing()
    assert finding.observation.code == "sale_frozen"
    made = await desk.sales.propose("phones", {"stock": "9"}, OPERATOR, "one is broken")
    assert await desk.declare(less) == ["policy/phones"]
    with pytest.raises(Refused, match="ask a second operator"):
        await desk.sales.approve(made.id, OPERATOR)
    approved = await desk.sales.approve(made.id, BOB)
    assert (approved.author, approved.reviewer) == (OPERATOR.name, "bob")
    assert await desk.declare(less) == []
    assert desk.rig.fleets.current.fleet.policies == (less,)
    assert desk.rig.findings.standing() == []


async def test_a_frozen_sale_is_not_removed_and_can_be_switched_off() -> None:
    desk = Desk()
    policy = desk.policy()
    await desk.declare(policy)
    desk.rig.clock.time_s += 60
    assert await desk.declare() == ["policy/phones"]
    assert await desk.declare(replace(policy, mode=Mode.OFF)) == []
    assert desk.sales.all() == []


async def test_corrections_are_numbered_and_name_what_a_sale_has() -> None:
    desk = Desk()
    await desk.declare(desk.policy())
    for number in (1, 2):
        made = await desk.sales.propose("phones", {"stock": "9"}, OPERATOR, "x")
        assert made.id == f"phones-{number}"
    assert [one.id for one in desk.sales.corrections("phones")] == ["phones-1", "phones-2"]
    assert desk.sales.corrections("others") == []
    with pytest.raises(Invalid):
        await desk.sales.propose("phones", {"price": "1"}, OPERATOR, "x")
    with pytest.raises(NotFound):
        await desk.sales.propose("others", {"stock": "9"}, OPERATOR, "x")
