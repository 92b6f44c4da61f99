"""A server clock that is set back hides neither silence nor what comes after it."""

from controlplane.domain.guardrails.state import Outcome
from tests.engine.samples.test_suspicion import EAST, PERIOD_S, WEST, Site

BACK_S = 1_800.0


async def test_silence_after_a_clock_was_set_back_is_told_in_its_time() -> None:
    site = await Site().started()
    site.clock.time_s -= BACK_S
    for _ in range(4):
        await site.intake.accept([])
        await site.intake.suspicions.look(site.intake.window)
        site.clock.time_s += PERIOD_S
    assert {f"service/tickets datacenter/{name}" for name in (EAST, WEST)} == set(site.troubled)
    await site.tick()
    assert site.loop.decisions["tickets"].outcome is Outcome.HELD


async def test_what_comes_after_a_clock_was_set_back_is_the_newest() -> None:
    site = await Site().started()
    site.clock.time_s -= BACK_S
    await site.periods(3)
    window = site.intake.window("tickets")
    assert window.age_s(EAST, site.clock.now()) == 0.0
    newest = window.latest(EAST)
    assert newest is not None
    assert newest.received_s == site.clock.now()
    assert all(one.received_s <= site.clock.now() for one in window.samples[EAST])
    assert site.troubled == []


async def test_a_restart_under_an_earlier_clock_knows_no_receipt_after_now() -> None:
    site = await Site().started()
    site.clock.time_s -= BACK_S
    again = await site.restart()
    newest = again.intake.window("tickets").latest(WEST)
    assert newest is not None
    assert newest.received_s == site.clock.now()
