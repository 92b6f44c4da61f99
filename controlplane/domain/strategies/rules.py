"""Strategies without a model: static, capacity, cpu_equalizer and threshold.

Called through the registry, and by `fallback` and `spread` as the lower rungs of their ladder.
Work for any number of data centres.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.center_use import CenterUse, declared_uses
from controlplane.domain.strategies.situation import Note, Proposal, Shares, Situation

# Difference of utilisation that is not worth a move; below it the equaliser only follows noise.
DEADBAND = 0.02
# A load whose inverse may be no float is none.
NO_LOAD = 1e-200
# How far under the alarm level the threshold rule brings a centre, so that it leaves the edge.
ALARM_MARGIN = 0.05


def static(situation: Situation) -> Proposal:
    """The declared ratio; the ratio of capacities where none is declared."""
    declared = dict(situation.service.static_shares)
    values = [declared.get(center.name, 0.0) for center in situation.centers]
    if not any(value > 0 for value in values):
        return capacity(situation)
    return Proposal(strategy=StrategyName.STATIC, shares=normalized(values))


def capacity(situation: Situation) -> Proposal:
    """The ratio of the declared capacities of the centres that bear traffic."""
    values = [
        center.cluster.capacity_rps if bears else 0.0
        for center, bears in zip(situation.centers, situation.bearing, strict=True)
    ]
    return Proposal(strategy=StrategyName.CAPACITY, shares=normalized(values))


def cpu_equalizer(situation: Situation) -> Proposal:
    """Shares at which all centres that bear traffic are equally busy: s_d ~ 1 / k_d.

    k_d is the utilisation per unit of load over the last periods. Within `DEADBAND` of equal it
    holds. Falls back to the static ratio when a centre reports no CPU, holds without samples.
    """
    if note := missing_metrics(situation):
        return hold(situation, StrategyName.CPU_EQUALIZER, note)
    uses = declared_uses(situation)
    bearing = [use for use, bears in zip(uses, situation.bearing, strict=True) if bears]
    awaited = [use for use, waits in zip(uses, situation.awaited, strict=True) if waits]
    if not all(use.by_cpu for use in awaited) or not math.fsum(use.load for use in uses) > NO_LOAD:
        note = Note(code="cpu_missing", message="a data centre reports no CPU above idle")
        return with_notes(static(situation), note)
    busy = [use.use for use in bearing]
    if max(busy) - min(busy) <= DEADBAND:
        note = Note(
            code="within_deadband",
            message=f"utilisation differs by {max(busy) - min(busy):.3f}, within {DEADBAND:g}",
        )
        return hold(situation, StrategyName.CPU_EQUALIZER, note)
    shares = _equal(uses, situation.bearing)
    return Proposal(strategy=StrategyName.CPU_EQUALIZER, shares=shares)


def _equal(uses: Sequence[CenterUse], bearing: Sequence[bool]) -> Shares:
    """Shares with the same utilisation everywhere, what others put on shared pools included.

    s_d = max(w - standing_d, 0) / (k_d load), w such that they sum to 1; without others on the
    pools this is s_d ~ 1 / k_d.
    """
    load = math.fsum(use.load for use in uses)
    slopes = [use.use_per_load * load for use in uses]
    filled, drained, level = 0.0, 0.0, 0.0
    # From the emptiest pool on: each one that the level reaches takes part in it.
    for standing, slope in sorted(
        (use.standing, slope) for use, slope, b in zip(uses, slopes, bearing, strict=True) if b
    ):
        if filled and standing >= level:
            break
        filled += 1.0 / slope
        drained += standing / slope
        level = (1.0 + drained) / filled
    return normalized(
        [
            max(level - use.standing, 0.0) / slope if bears else 0.0
            for use, slope, bears in zip(uses, slopes, bearing, strict=True)
        ]
    )


def threshold(situation: Situation) -> Proposal:
    """S4's rule: a centre above the service's alarm level sheds share to the others.

    It sheds what brings its CPU `ALARM_MARGIN` under the level; the others take it by their room
    below that point (capacity times the CPU that is left). Holds when nobody is above the level,
    or nobody has room.
    """
    cpu = _newest_cpu(situation)
    if all(math.isnan(value) for value in cpu):
        note = Note(code="cpu_missing", message="no data centre reports CPU")
        return hold(situation, StrategyName.THRESHOLD, note)
    level = situation.service.alarm_cpu
    if not any(value > level for value in cpu):
        note = Note(code="below_alarm", message=f"no CPU is above the alarm level {level:g}")
        return hold(situation, StrategyName.THRESHOLD, note)
    aim = max(level - ALARM_MARGIN, 0.0)
    room = [
        max(aim - value, 0.0) * center.cluster.capacity_rps if bears else 0.0
        for value, center, bears in zip(cpu, situation.centers, situation.bearing, strict=True)
    ]
    if not any(room):
        note = Note(code="no_room", message=f"no other data centre is below CPU {aim:.2f}")
        return hold(situation, StrategyName.THRESHOLD, note)
    shed = [
        share * (1.0 - aim / value) if value > level else 0.0
        for share, value in zip(situation.applied, cpu, strict=True)
    ]
    shares = [
        share - loss + math.fsum(shed) * space / math.fsum(room)
        for share, loss, space in zip(situation.applied, shed, room, strict=True)
    ]
    note = Note(code="alarm", message=f"CPU {max_known(cpu):.2f} is above the level {level:g}")
    return Proposal(
        strategy=StrategyName.THRESHOLD, shares=normalized(shares), urgent=True, notes=(note,)
    )


def hold(situation: Situation, strategy: str, *notes: Note) -> Proposal:
    """Propose the shares that are in force."""
    return Proposal(strategy=strategy, shares=situation.applied, notes=notes)


def failed(situation: Situation, strategy: str, note: Note) -> Proposal:
    """Propose the shares in force because the model had no answer, which its ledger counts."""
    return replace(hold(situation, strategy, note), failed=True)


def with_notes(proposal: Proposal, *notes: Note) -> Proposal:
    """The proposal with notes before its own."""
    return replace(proposal, notes=(*notes, *proposal.notes))


def missing_metrics(situation: Situation) -> Note | None:
    """A note that names the awaited centres that never sent a sample; None if all did."""
    silent = [
        center.name
        for center, waits in zip(situation.centers, situation.awaited, strict=True)
        if waits and situation.window.latest(center.name) is None
    ]
    if not silent:
        return None
    return Note(code="metrics_missing", message=f"no sample from {', '.join(silent)}")


def normalized(values: Sequence[float]) -> Shares:
    """The values divided by their sum, which is positive."""
    total = math.fsum(values)
    return tuple(value / total for value in values)


def max_known(values: Sequence[float]) -> float:
    """The largest value that is not NaN; -inf when there is none."""
    return max((value for value in values if not math.isnan(value)), default=-math.inf)


def _newest_cpu(situation: Situation) -> tuple[float, ...]:
    """The newest CPU of each centre, NaN when unknown; a reserve that joins is idle."""
    newest = [situation.window.latest(center.name) for center in situation.centers]
    cpu = tuple(
        math.nan if sample is None or sample.cpu_avg is None else sample.cpu_avg
        for sample in newest
    )
    return tuple(
        0.0 if center.name in situation.muster.joining and math.isnan(value) else value
        for center, value in zip(situation.centers, cpu, strict=True)
    )
