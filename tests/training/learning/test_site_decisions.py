"""Four data centers: what `hybrid` decides with learned laws, judged by the simulator's truth."""

from dataclasses import replace

import numpy as np
import pytest

from controlplane.adapters.predictor import learned
from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.registry import propose
from controlplane.domain.strategies.situation import LearnedModel, Shares, Situation
from controlplane.domain.telemetry import Sample, ServiceWindow, extended
from controlplane.domain.topology import Role
from tests.domain.two_centers import centers as declared_centers
from tests.domain.two_centers import codes, make_service
from training.learning.law_fit import Declared
from training.learning.site_version import SiteJob, train_site
from training.simulation import simulator, truth, weather
from training.simulation.world import load_world
from training.site_dataset import SiteDataset

WORLD = load_world("W1x4")
EQUAL = (0.25,) * 4
EVERY_MINUTES, READ_MINUTES, CYCLE_MINUTES = 20, 10, 5


@pytest.fixture(scope="module")
def model() -> LearnedModel:
    """Fitted to three days of logs of which the day below is none."""
    minutes = 3 * 1440 + 1
    logs = simulator.simulate_site(
        WORLD, weather.draw(WORLD, minutes, 8), weather.operator_shares(WORLD, minutes, 8)
    )
    job = SiteJob(service="tickets", seed=0, created_at_s=0.0, declared=(Declared(),) * 4)
    return learned(train_site(logs, job))


def situation(day: SiteDataset, minute: int) -> Situation:
    """What the control plane knows at a minute of a day under equal shares."""
    capacities = tuple(center.capacity_rps for center in WORLD.centers)
    roles = (Role.PRIMARY, *(Role.SAME_CITY,) * 3)
    placed = tuple(
        replace(
            center,
            datacenter=replace(center.datacenter, name=name),
            cluster=replace(center.cluster, datacenter=name),
        )
        for center, name in zip(declared_centers(roles, capacities), day.centers, strict=True)
    )
    samples = [
        Sample(
            datacenter=name,
            service="tickets",
            time_s=float(day.time_s[at]),
            received_s=float(day.time_s[at]),
            response_time_ms=float(series.response_time_ms[at]),
            request_rate_rps=float(series.request_rate_rps[at]),
            cpu_avg=float(series.cpu_avg[at]),
        )
        for at in range(minute - READ_MINUTES + 1, minute + 1)
        for name, series in zip(day.centers, day.series, strict=True)
    ]
    service = replace(
        make_service(StrategyName.HYBRID), clusters=tuple(one.cluster for one in placed)
    )
    return Situation(
        service=service,
        centers=placed,
        window=extended(ServiceWindow(service="tickets"), samples, 60.0 * READ_MINUTES),
        applied=EQUAL,
        now_s=float(day.time_s[minute]),
    )


def test_learned_laws_decide_better_than_equal_shares_and_than_declared_machines(
    model: LearnedModel,
) -> None:
    drawn = weather.draw(WORLD, 1441, 10)
    day = simulator.simulate_site(WORLD, drawn, np.full((4, 1441), 0.25))
    minutes = range(READ_MINUTES, len(day) - CYCLE_MINUTES, EVERY_MINUTES)

    def mean_ms(shares: dict[int, Shares]) -> float:
        """Request-weighted over the cycles that follow the decisions."""
        total, requests = 0.0, 0.0
        for minute, split in shares.items():
            cycle = np.arange(minute + 1, minute + 1 + CYCLE_MINUTES)
            path = np.repeat(np.array(split)[:, None], drawn.minutes, axis=1)
            outcome = truth.outcome(WORLD, drawn, path)
            total += float(np.sum(outcome.mean_ms[cycle] * drawn.arrival_rps[cycle]))
            requests += float(np.sum(drawn.arrival_rps[cycle]))
        return total / requests

    by_law, by_machine, equal = {}, {}, {}
    for minute in minutes:
        known = situation(day, minute)
        proposal = propose(replace(known, model=model))
        assert "laws_declared" not in codes(proposal.notes)
        by_law[minute] = proposal.shares
        by_machine[minute] = propose(known).shares
        equal[minute] = EQUAL
    assert mean_ms(by_law) < mean_ms(by_machine) < mean_ms(equal)
