"""Suspicious metrics on their way: stored and marked, read by no decision, told, forced."""

from dataclasses import replace

import pytest

from controlplane.domain import canonical
from controlplane.domain.decisions import Decision
from controlplane.domain.errors import Conflict, Refused
from controlplane.domain.findings import Finding, Observation, Source
from controlplane.domain.guardrails.state import Outcome
from controlplane.domain.services import StrategyName
from controlplane.domain.telemetry import Sample
from controlplane.domain.topology import Role
from controlplane.engine.deciding.replay import Replays
from controlplane.engine.samples.forcing import Forcing
from tests.builders import OPERATOR, fleet, sample, service
from tests.engine.rig import Rig

PERIOD_S = 60.0
EAST, WEST = "beijing-1", "beijing-2"


class Site(Rig):
    """A rig whose two data centres measure honestly until something is changed."""

    async def started(self) -> "Site":
        await self.declare(fleet(service(strategy=StrategyName.CPU_EQUALIZER)))
        await self.periods(20)
        return self

    def honest(self, number: int) -> list[Sample]:
        wobble = 1.0 + (number * 7 % 5 - 2) / 40
        east = sample(
            EAST,
            self.clock.time_s,
            request_rate_rps=44.0 * wobble,
            response_time_ms=50.0 * wobble,
            memory=0.5,
        )
        west = sample(
            WEST,
            self.clock.time_s,
            request_rate_rps=28.0 * wobble,
            response_time_ms=70.0 * wobble,
            cpu_avg=0.62 * wobble,
            memory=0.6,
        )
        return [east, west]

    async def periods(self, count: int, center: str = "", **readings: float) -> None:
        """So many periods, with readings of one data centre changed."""
        for number in range(count):
            self.clock.time_s += PERIOD_S
            samples = self.honest(number)
            changed = [
                replace(one, **readings) if one.datacenter == center else one for one in samples
            ]
            receipt = await self.intake.accept(changed)
            assert receipt.accepted + len(receipt.findings) == 2
            await self.intake.flush()

    @property
    def found(self) -> dict[str, str]:
        standing = self.instruments.findings.standing()
        return {one.observation.subject: one.observation.code for one in standing}

    def finding(self) -> Finding:
        (finding,) = self.instruments.findings.standing()
        return finding

    def newest_s(self, center: str) -> float:
        newest = self.intake.window("tickets").latest(center)
        assert newest is not None
        return newest.time_s

    @property
    def forcing(self) -> Forcing:
        return Forcing(self.intake, self.stores.audit, self.instruments)


async def test_a_jump_is_held_out_of_decisions_and_told_until_it_is_over() -> None:
    site = await Site().started()
    before_s = site.clock.time_s
    await site.periods(1, EAST, request_rate_rps=4_400.0)
    assert site.found == {f"service/tickets datacenter/{EAST}": "metrics_jumped"}
    assert site.newest_s(EAST) == before_s
    await site.tick()
    decision = site.loop.decisions["tickets"]
    assert decision.outcome is Outcome.HELD
    assert decision.decided == decision.applied
    assert [note.code for note in decision.notes] == ["metrics_jumped"]
    stored = await site.stores.samples.since("tickets", before_s + 1)
    assert {(one.datacenter, one.suspicion) for one in stored} == {
        (EAST, "metrics_jumped"),
        (WEST, None),
    }
    await site.periods(1)
    assert site.found == {}
    await site.tick()
    assert site.loop.decisions["tickets"].outcome is Outcome.MOVED


async def test_frozen_samples_are_marked_back_to_the_second() -> None:
    site = await Site().started()
    start_s = site.clock.time_s
    stuck = site.honest(3)[0]
    for number in range(5):
        site.clock.time_s += PERIOD_S
        await site.intake.accept([replace(stuck, time_s=site.clock.time_s), site.honest(number)[1]])
    await site.intake.flush()
    assert site.found == {f"service/tickets datacenter/{EAST}": "metrics_frozen"}
    stored = await site.stores.samples.since("tickets", start_s + 1)
    marks = [one.suspicion for one in stored if one.datacenter == EAST]
    assert marks == [None] + ["metrics_frozen"] * 4
    assert site.newest_s(EAST) == start_s + PERIOD_S


async def test_an_exchange_is_one_finding_of_the_service() -> None:
    site = await Site().started()
    for number in range(3):
        site.clock.time_s += PERIOD_S
        east, west = site.honest(number)
        await site.intake.accept([replace(west, datacenter=EAST), replace(east, datacenter=WEST)])
    assert site.found == {"service/tickets": "metrics_swapped"}
    await site.periods(1)
    assert site.found == {}


async def test_silence_is_found_by_looking_and_over_with_the_next_sample() -> None:
    site = await Site().started()
    site.clock.time_s += 120.0
    await site.intake.suspicions.look(site.intake.window)
    assert site.found == {}
    # What is sent again is not new.
    newest = site.intake.window("tickets").latest(EAST)
    assert newest is not None
    await site.intake.accept([replace(newest, cpu_avg=0.7)])
    site.clock.time_s += 1.0
    await site.intake.suspicions.look(site.intake.window)
    assert set(site.found.values()) == {"metrics_stopped"}
    assert len(site.found) == 2
    await site.periods(1)
    assert site.found == {}


async def test_a_center_that_never_sent_anything_is_missed_once_another_did() -> None:
    site = Site()
    await site.declare(fleet())
    site.clock.time_s += 1_000.0
    await site.intake.suspicions.look(site.intake.window)
    assert site.found == {}
    await site.intake.accept([sample(EAST, site.clock.time_s)])
    for _ in range(3):
        site.clock.time_s += PERIOD_S
        await site.intake.accept([sample(EAST, site.clock.time_s, cpu_avg=0.3)])
    await site.intake.suspicions.look(site.intake.window)
    assert site.found == {f"service/tickets datacenter/{WEST}": "metrics_stopped"}


async def test_no_fact_is_told_until_a_good_sample_comes() -> None:
    site = await Site().started()
    await site.periods(2, WEST, cpu_avg=float("nan"))
    assert site.found == {f"service/tickets datacenter/{WEST}": "metrics_refused"}
    await site.tick()
    assert site.loop.decisions["tickets"].outcome is Outcome.HELD
    await site.periods(1)
    assert site.found == {}
    await site.intake.accept([sample("nowhere"), replace(sample(), service="none")])
    assert site.found == {}


async def test_loads_that_match_the_exchanged_shares_hold_the_weights() -> None:
    site = Site()
    shares = (("beijing-1", 0.7), ("beijing-2", 0.3))
    await site.declare(fleet(replace(service(), static_shares=shares)))
    for number in range(12):
        site.clock.time_s += PERIOD_S
        east, west = site.honest(number)
        rates = {EAST: 24.0 + number % 3 / 9, WEST: 56.0 + number % 4 / 9}
        await site.intake.accept(
            [replace(one, request_rate_rps=rates[one.datacenter]) for one in (east, west)]
        )
    await site.intake.suspicions.look(site.intake.window)
    assert site.found == {"service/tickets": "shares_swapped"}
    finding = site.finding()
    await site.forcing.force(finding.id, OPERATOR, "traffic does not follow the weights yet")
    await site.intake.suspicions.look(site.intake.window)
    assert site.found == {}
    site.clock.time_s += 3_601.0
    assert not site.intake.suspicions.is_forced(finding)


async def test_forcing_takes_in_what_was_held_and_is_audited_once() -> None:
    site = await Site().started()
    await site.periods(2, EAST, request_rate_rps=4_400.0)
    finding = site.finding()
    forced = await site.forcing.force(finding.id, OPERATOR, "the flash sale has begun")
    assert not forced.standing
    assert site.newest_s(EAST) == site.clock.time_s
    await site.forcing.force(finding.id, OPERATOR, "again")
    (entry,) = [one for one in site.stores.audit.entries if one.action == "finding.force"]
    assert (entry.author, entry.reason) == ("operator", "the flash sale has begun")
    assert entry.subject == f"service/tickets datacenter/{EAST}"
    assert "metrics_jumped" in entry.before
    assert entry.after == "2 held samples are trusted (4400/s 47.5 ms, 4400/s 50 ms)"
    await site.periods(20, EAST, request_rate_rps=4_400.0)
    assert site.found == {}
    # Its median has followed, so the force is over, and a jump back is a jump.
    assert not site.intake.suspicions.is_forced(finding)
    await site.periods(1)
    assert site.found == {f"service/tickets datacenter/{EAST}": "metrics_jumped"}
    stored = await site.stores.samples.since("tickets", 0.0)
    assert sum(one.suspicion is not None for one in stored) == 1


async def test_a_force_ends_after_an_hour_even_when_the_doubt_does_not() -> None:
    site = await Site().started()
    stuck = site.honest(3)[0]

    async def freeze(periods: int) -> None:
        for number in range(periods):
            site.clock.time_s += PERIOD_S
            await site.intake.accept(
                [replace(stuck, time_s=site.clock.time_s), site.honest(number)[1]]
            )

    await freeze(5)
    await site.forcing.force(site.finding().id, OPERATOR, "a test system")
    await freeze(59)
    assert f"service/tickets datacenter/{EAST}" not in site.found
    await freeze(2)
    assert site.found[f"service/tickets datacenter/{EAST}"] == "metrics_frozen"


async def test_only_what_is_suspicious_and_stands_can_be_forced() -> None:
    site = await Site().started()
    other = Observation(code="decision_failed", subject="service/tickets", message="x")
    (unforcible,) = site.instruments.findings.report(Source.LOOP, [other])
    with pytest.raises(Refused, match="cannot be forced here"):
        await site.forcing.force(unforcible.id, OPERATOR, "why not")
    site.instruments.findings.report(Source.LOOP, [])
    await site.periods(1, EAST, request_rate_rps=4_400.0)
    finding = site.finding()
    await site.periods(1)
    with pytest.raises(Conflict, match="is over"):
        await site.forcing.force(finding.id, OPERATOR, "too late")
    gone = replace(finding, observation=replace(finding.observation, subject="service/none"))
    with pytest.raises(Conflict, match="is over"):
        site.intake.suspicions.held(gone)
    assert not any(one.action == "finding.force" for one in site.stores.audit.entries)


@pytest.mark.parametrize("exchange", [False, True])
async def test_a_restart_keeps_the_doubt_and_its_id(exchange: bool) -> None:
    site = await Site().started()
    for number in range(2):
        site.clock.time_s += PERIOD_S
        east, west = site.honest(number)
        if exchange:
            east, west = replace(west, datacenter=EAST), replace(east, datacenter=WEST)
        else:
            east = replace(east, response_time_ms=9_000.0)
        await site.intake.accept([east, west])
    await site.intake.flush()
    finding = site.finding()
    other = await site.restart()
    (again,) = other.instruments.findings.standing()
    assert again.id == finding.id
    assert other.intake.suspicions.standing("tickets")


async def test_a_service_that_is_undeclared_leaves_no_finding_behind() -> None:
    site = await Site().started()
    await site.periods(1, EAST, request_rate_rps=4_400.0)
    await site.fleets.apply(fleet(service("orders")), OPERATOR, force=True)
    await site.intake.suspicions.look(site.intake.window)
    assert site.found == {}
    assert site.intake.suspicions.standing("tickets") == ()


async def test_a_doubt_about_who_fell_silent_becomes_the_silence() -> None:
    site = await Site().started()
    await site.periods(1, EAST, request_rate_rps=4_400.0)
    for number in range(3):
        site.clock.time_s += PERIOD_S
        await site.intake.accept([site.honest(number)[1]])
    await site.intake.suspicions.look(site.intake.window)
    assert site.found == {f"service/tickets datacenter/{EAST}": "metrics_stopped"}


async def test_one_bad_sample_of_a_reserve_does_not_hold_the_service_for_ever() -> None:
    site = Site()
    declared = fleet(service(strategy=StrategyName.CPU_EQUALIZER))
    centers = (declared.datacenters[0], replace(declared.datacenters[1], role=Role.CLOUD))
    await site.declare(replace(declared, datacenters=centers))
    for number in range(5):
        site.clock.time_s += PERIOD_S
        await site.intake.accept([site.honest(number)[0]])
    await site.intake.accept([sample(WEST, site.clock.time_s, cpu_avg=9.0)])
    assert site.found == {f"service/tickets datacenter/{WEST}": "metrics_refused"}
    for number in range(3):
        site.clock.time_s += PERIOD_S
        await site.intake.accept([site.honest(number)[0]])
    await site.intake.suspicions.look(site.intake.window)
    assert site.found == {}


async def test_late_samples_change_no_doubt() -> None:
    site = await Site().started()
    await site.periods(1, EAST, request_rate_rps=4_400.0)
    await site.intake.accept([sample(EAST, site.clock.time_s - 30.0, cpu_avg=0.41)])
    assert site.found == {f"service/tickets datacenter/{EAST}": "metrics_jumped"}
    await site.intake.accept(
        [sample(EAST, site.clock.time_s - 20.0, cpu_avg=0.42, request_rate_rps=9_999.0)]
    )
    assert "4400" in site.finding().observation.message


async def test_a_decision_on_suspicious_metrics_is_made_again_from_its_record() -> None:
    site = await Site().started()
    await site.periods(1, EAST, request_rate_rps=4_400.0)
    await site.tick()
    decision = site.loop.decisions["tickets"]
    assert canonical.decode(Decision, canonical.encode(decision)) == decision
    stores = site.stores
    again = await Replays(stores.fleets, stores.models).again(decision)
    assert again.difference == 0.0
    assert again.verdict.outcome is Outcome.HELD


async def test_a_sender_whose_clock_is_set_right_has_not_stopped() -> None:
    site = await Site().started()
    for number in range(16):
        site.clock.time_s += PERIOD_S
        east, west = site.honest(number)
        ahead_s = 250.0 if number < 5 else 3.7
        await site.intake.accept([replace(east, time_s=east.time_s + ahead_s), west])
        await site.intake.suspicions.look(site.intake.window)
        assert site.found == {}
    await site.periods(1, EAST, request_rate_rps=4_400.0)
    assert set(site.found.values()) == {"metrics_jumped"}


async def test_a_sample_that_is_sent_again_does_not_end_a_force() -> None:
    site = await Site().started()
    stuck = site.honest(3)[0]
    for number in range(10):
        site.clock.time_s += PERIOD_S
        again = [replace(stuck, time_s=site.clock.time_s)] * 4
        await site.intake.accept([*again, site.honest(number)[1]])
        if number == 4:
            await site.forcing.force(site.finding().id, OPERATOR, "a test system")
    assert site.found == {}


async def test_a_force_after_a_restart_takes_in_what_was_held_before_it() -> None:
    site = await Site().started()
    await site.periods(10, EAST, request_rate_rps=4_400.0)
    other = await site.restart()
    (finding,) = other.findings.standing()
    forcing = Forcing(other.intake, other.stores.audit, other.instruments)
    await forcing.force(finding.id, OPERATOR, "the flash sale has begun")
    newest = [one.request_rate_rps for one in other.intake.window("tickets").samples[EAST][-10:]]
    assert newest == [4_400.0] * 10


async def test_a_data_center_that_was_removed_is_no_measure_for_the_others() -> None:
    site = await Site().started()
    (own,) = site.fleets.current.fleet.services
    lone = replace(own, clusters=own.clusters[1:])
    await site.declare(replace(site.fleets.current.fleet, services=(lone,)))
    site.clock.time_s += PERIOD_S / 2
    # Looks like the one that is gone.
    east, _ = site.honest(0)
    receipt = await site.intake.accept([replace(east, datacenter=WEST)])
    assert (receipt.findings, receipt.suspicious) == ((), ())
    await site.tick()
    assert {one.datacenter for one in site.loop.decisions["tickets"].samples} == {WEST}


async def test_a_silence_longer_than_the_window_is_told_after_a_restart_too() -> None:
    site = await Site().started()
    site.clock.time_s += 2 * 3_600.0
    await site.intake.suspicions.look(site.intake.window)
    before = site.findings.standing()
    assert [one.observation.code for one in before] == ["metrics_stopped"] * 2
    other = await site.restart()
    await other.intake.suspicions.look(other.intake.window)
    assert [one.id for one in other.findings.standing()] == [one.id for one in before]
