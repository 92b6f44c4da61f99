"""Limits that keep services within the room of those who are left, before the load moves."""

import math

from controlplane.domain.failover.placing import Allocation
from controlplane.domain.failover.plan import Plan
from controlplane.domain.intents.intent import Admission, Preset, PresetName
from controlplane.engine.intents.facts import Facts

# Requests in work that a gateway may let in: with less, one at a time would already be too many.
LEAST_IN_WORK = 0.75
# Part of the requests in work that may wait: they add a quarter of the response time at most.
WAITING_PART = 0.25


def survivors_limits(made: Plan, facts: Facts) -> tuple[Admission, ...]:
    """A limit for each service that a plan does not let in whole."""
    return tuple(
        Admission(service=one.service, preset=_limit(one, facts), part=_part(one))
        for one in made.allocations
        if one.admitted_rps is not None and one.inflow
    )


def _part(one: Allocation) -> float:
    return (one.admitted_rps or 0.0) / one.rate_rps if one.rate_rps else 0.0


def _limit(one: Allocation, facts: Facts) -> Preset:
    """What keeps a service within its room: requests in work = rate x response time (Little)."""
    in_work = (one.admitted_rps or 0.0) * _response_s(one, facts) / facts.gateways
    if in_work < LEAST_IN_WORK:
        return Preset(name=PresetName.BLOCK)
    concurrent = max(1, int(in_work + 1.0 - LEAST_IN_WORK))
    return Preset(
        name=PresetName.CIRCUIT_BREAK,
        concurrent=concurrent,
        waiting=max(1, round(concurrent * WAITING_PART)),
    )


def _response_s(one: Allocation, facts: Facts) -> float:
    """Mean response time at the survivors; of anybody where they have no traffic yet."""
    window = facts.window(one.service)
    for names in (one.inflow, window.samples):
        times = [
            newest.response_time_ms
            for name in names
            if (newest := window.latest(name)) is not None and newest.load > 0
        ]
        if times:
            return math.fsum(times) / len(times) / 1_000.0
    return 0.1
