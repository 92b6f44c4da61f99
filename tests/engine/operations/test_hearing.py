"""What fires: under a clock that is set back, and in a storm under many policies."""

import asyncio
import time
from dataclasses import replace

import pytest

from controlplane.domain.errors import Refused
from controlplane.domain.findings import Source
from controlplane.domain.operations.alert_policies import Comparison, Matcher
from controlplane.engine.operations import firing
from tests.engine.operations.test_alerts import (
    BY,
    ON_FINDINGS,
    POLICY,
    STOPPED,
    Site,
    alert,
    restarted,
)

LONGEST_HELD_S = 0.1


@pytest.fixture
async def site() -> Site:
    made = Site()
    await made.policies.put(POLICY, BY)
    return made


async def test_a_refused_order_is_asked_again_after_the_clock_went_back(site: Site) -> None:
    site.intents.refusals = [Refused("no_room", "there is no room")]
    await site.alerts.take([alert()])
    site.clock.time_s -= 3_600.0
    await site.alerts.look()
    assert site.intents.standing == ["failover-1"]


async def test_a_hold_lasts_no_longer_when_the_clock_goes_back(site: Site) -> None:
    await site.policies.put(replace(POLICY, hold_s=60.0), BY)
    await site.alerts.take([alert()])
    site.clock.time_s -= 3_600.0
    await site.alerts.look()
    assert not site.intents.orders
    site.clock.time_s += 61.0
    await site.alerts.look()
    assert len(site.intents.orders) == 1


async def test_an_alert_that_is_heard_right_after_the_clock_went_back_is_kept(site: Site) -> None:
    site.clock.time_s -= firing.FORGET_S * 2
    await site.alerts.take([alert()])
    assert len(site.alerts.firing) == len(site.intents.orders) == 1


async def test_a_finding_of_before_a_restart_is_waited_for_no_longer_when_the_clock_goes_back(
    site: Site,
) -> None:
    await site.policies.put(replace(ON_FINDINGS, hold_s=0.0), BY)
    site.instruments.findings.report(Source.METRICS, [STOPPED])
    await site.alerts.look()
    again = await restarted(site)
    again.clock.time_s -= 3_600.0
    await again.alerts.look()
    assert again.intents.standing == ["failover-1"]
    again.clock.time_s += firing.GRACE_S + 1.0
    await again.alerts.look()
    assert again.intents.undone == ["failover-1"]


async def test_a_storm_under_many_policies_does_not_hold_the_loop(site: Site) -> None:
    """Failovers are brought to the planes meanwhile."""
    matchers = tuple(
        Matcher(label=f"label{n}", comparison=Comparison.FITS, value=f"(web|db)-[a-z0-9]+-{n}.*")
        for n in range(20)
    )
    for number in range(100):
        name = f"many-{number:02}"
        await site.policies.put(replace(POLICY, name=name, matchers=matchers), BY)
    labels = {f"label{n}": f"web-abc-{n}.example.com" for n in range(20)}
    storm = [
        replace(one, labels=one.labels | labels | {"label19": f"no-{number}"})
        for number, one in enumerate(alert(number) for number in range(300))
    ]
    waits: list[float] = []
    beating = asyncio.create_task(beats(waits))
    await asyncio.sleep(0)
    await site.alerts.take(storm)
    beating.cancel()
    assert len(site.alerts.firing) == 300
    assert max(waits) < LONGEST_HELD_S, max(waits)


async def beats(waits: list[float]) -> None:
    while True:
        # Of this thread alone: a busy machine makes everybody wait.
        began = time.thread_time()
        await asyncio.sleep(0.001)
        waits.append(time.thread_time() - began)
