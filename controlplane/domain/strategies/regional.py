"""regional: traffic stays in its home region, and what is too much for it goes to the others.

S2 sends each message home while the load B of its data centre (`regional_load`) is below the
critical load, and otherwise to the least loaded of the others. Here that is a split for each
source region: B follows the traffic in proportion, so the part that has to go elsewhere can be
told. A centre over the critical load is brought to a mark between it and the return load, and
nothing moves again until B leaves the band between the two. So noise within the band moves nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.services import RegionalRule, StrategyName
from controlplane.domain.strategies.regional_load import CenterLoad, center_loads
from controlplane.domain.strategies.regions import Rows, SourceRegion, in_force, summed
from controlplane.domain.strategies.rules import missing_metrics, static, with_notes
from controlplane.domain.strategies.situation import Note, Proposal, Situation

FloatArray = NDArray[np.float64]
Flags = NDArray[np.bool_]

# A home share below that of its home row by less is rounding to basis points.
ROUNDED = 5e-4
HALVINGS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class _Picture:
    """All data centres at once, in order: (centers,).

    Attributes:
        now: B; `at_home`: B if every region were served at home.
        demand: rate that is at home there.
        diverting: whether some of it goes elsewhere with the rows in force.
        bears: whether it bears traffic at all.
    """

    now: FloatArray
    at_home: FloatArray
    per_rate: FloatArray
    demand: FloatArray
    diverting: Flags
    bears: Flags


def regional(situation: Situation) -> Proposal:
    """Home, with what is too much for it on the least loaded of the others."""
    if not situation.regions:
        note = Note(code="regions_missing", message="no source region is known to this decision")
        return with_notes(static(situation), note)
    if missing := missing_metrics(situation):
        return _stay(situation, missing)
    loads = center_loads(situation)
    if isinstance(loads, Note):
        return _stay(situation, loads)
    return _answer(situation, _picture(situation, loads))


def _picture(situation: Situation, loads: Sequence[CenterLoad]) -> _Picture:
    regions = situation.regions
    homes = tuple(region.home for region in regions)
    total = math.fsum(one.rate for one in loads)
    demand = np.array(summed(regions, homes)) * total
    per_rate = np.array([one.per_rate for one in loads])
    standing = np.array([one.standing for one in loads])
    diverting = [
        any(region.shares[at] < region.home[at] - ROUNDED for region in regions)
        for at in range(len(loads))
    ]
    return _Picture(
        now=np.array([one.load for one in loads]),
        at_home=standing + per_rate * demand,
        per_rate=per_rate,
        demand=demand,
        diverting=np.array(diverting),
        bears=np.array(situation.bearing),
    )


def _answer(situation: Situation, picture: _Picture) -> Proposal:
    rule = situation.service.regional
    over = picture.bears & (picture.now > rule.critical_load)
    back = picture.diverting & picture.bears & (picture.now < rule.return_load)
    if not over.any() and not back.any():
        return _stay(situation, _calm(situation, picture))
    mark = (rule.critical_load + rule.return_load) / 2
    level = _level(picture, _sources(picture, rule), mark)
    rows = _rows(situation.regions, picture, _sources(picture, rule), level)
    notes = [_said(situation, picture.now, "regional_overflow", over, rule.critical_load)]
    if level > rule.critical_load:
        if not back.any() and not _relieves(situation, picture, rows):
            return _stay(situation, _no_room(level, rule))
        notes.append(_no_room(level, rule))
    if back.any():
        notes.append(_said(situation, picture.now, "regional_return", back, rule.return_load))
    return Proposal(
        strategy=StrategyName.REGIONAL,
        shares=summed(situation.regions, rows),
        regions=rows,
        urgent=bool(over.any()) and level <= rule.critical_load,
        notes=tuple(note for note in notes if note is not None),
    )


def _sources(picture: _Picture, rule: RegionalRule) -> Flags:
    """Centres that are too small for what is at home there; one that diverts stays so longer."""
    limit = np.where(picture.diverting, rule.return_load, rule.critical_load)
    return picture.bears & (picture.at_home > limit)


def _level(picture: _Picture, sources: Flags, mark: float) -> float:
    """The lowest load, from the mark on, to which the sources can be brought.

    At a level w they give up (B - w) / k each, and the others take (w - B) / k.
    """

    def fits(level: float) -> bool:
        return bool(_excess(picture, sources, level).sum() <= _room(picture, level).sum())

    low, high = mark, max(mark, float(np.max(picture.at_home[picture.bears])))
    if fits(low):
        return low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def _excess(picture: _Picture, sources: Flags, level: float) -> FloatArray:
    """Rate that each source gives up at a level."""
    over = np.maximum(picture.at_home - level, 0.0) / picture.per_rate
    return np.where(sources, np.minimum(over, picture.demand), 0.0)


def _room(picture: _Picture, level: float) -> FloatArray:
    """Rate that each centre can take up to a level."""
    free = np.maximum(level - picture.at_home, 0.0) / picture.per_rate
    return np.where(picture.bears, free, 0.0)


def _rows(regions: Sequence[SourceRegion], picture: _Picture, sources: Flags, level: float) -> Rows:
    """Home rows less what the sources give up, which goes to the least loaded others."""
    excess = _excess(picture, sources, level)
    total = float(excess.sum())
    if not total > 0:
        return tuple(region.home for region in regions)
    given = np.divide(excess, picture.demand, out=np.zeros_like(excess), where=excess > 0)
    taken = _filled(picture, total, level) / total
    rows = []
    for region in regions:
        home = np.array(region.home)
        row = home * (1.0 - given) + float((home * given).sum()) * taken
        rows.append(tuple((row / row.sum()).tolist()))
    return tuple(rows)


def _filled(picture: _Picture, total: float, level: float) -> FloatArray:
    """How much of `total` each centre takes: the least loaded are filled to one height."""
    low, high = 0.0, level
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _room(picture, middle).sum() < total else (low, middle)
    taken = _room(picture, high)
    return np.asarray(taken * (total / taken.sum()))


def _relieves(situation: Situation, picture: _Picture, rows: Rows) -> bool:
    """Whether the highest load falls by half the band at least, for a move among full centres."""
    rule = situation.service.regional
    least = (rule.critical_load - rule.return_load) / 2
    standing = picture.at_home - picture.per_rate * picture.demand
    rates = picture.demand.sum() * np.array(summed(situation.regions, rows))
    then = standing + picture.per_rate * rates
    bears = picture.bears
    return bool(np.max(then[bears]) <= np.max(picture.now[bears]) - least)


def _stay(situation: Situation, note: Note) -> Proposal:
    """The rows in force."""
    return Proposal(
        strategy=StrategyName.REGIONAL,
        shares=situation.applied,
        regions=in_force(situation.regions),
        notes=(note,),
    )


def _calm(situation: Situation, picture: _Picture) -> Note:
    loads = ", ".join(
        f"{center.name} {load:.2f}"
        for center, load in zip(situation.centers, picture.now.tolist(), strict=True)
    )
    return Note(code="regional_calm", message=f"loads are {loads}: nothing has to move")


def _no_room(level: float, rule: RegionalRule) -> Note:
    return Note(
        code="regional_no_room",
        message=f"no split brings every data centre below {level:.2f}; the critical load is "
        f"{rule.critical_load:g}",
    )


def _said(
    situation: Situation, now: FloatArray, code: str, which: Flags, limit: float
) -> Note | None:
    names = [
        f"{center.name} has load {load:.2f}"
        for center, load, flag in zip(situation.centers, now.tolist(), which.tolist(), strict=True)
        if flag
    ]
    side = "above" if code == "regional_overflow" else "below"
    return Note(code=code, message=f"{', '.join(names)}, {side} {limit:g}") if names else None
