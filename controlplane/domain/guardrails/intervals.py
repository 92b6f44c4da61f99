"""The interval of the coming cycle, and whether that of the last one held.

Beside the ledger, and as it: one forecast a cycle for the shares that were decided. But it counts
every cycle that was forecast, those of a full centre too, and goes on when the model changes: what
it learns is how far off forecasts of this service are. Called by the envelope before and after
the guards; kept in `GuardState`.
"""

import math
from dataclasses import replace

import numpy as np

from controlplane.domain.guardrails.draft import NEGLIGIBLE, distance, predicted_ms
from controlplane.domain.guardrails.ledger import EARLIEST, LATEST, cycle_ms
from controlplane.domain.strategies.situation import Proposal, Shares, Situation
from controlplane.domain.uncertainty import (
    Calibration,
    Interval,
    combined,
    foreseen,
    judged,
)


def compared(calibration: Calibration, situation: Situation) -> Calibration:
    """The calibration with its pending interval judged, if its cycle is over.

    It is void when other shares are in force than it was made for, or nothing was realised.
    """
    said = calibration.pending
    if said is None:
        return calibration
    age = (situation.now_s - said.time_s) / situation.cycle_s
    if not 0 <= age <= LATEST or not _in_force(said, situation.applied):
        return replace(calibration, pending=None)
    if age < EARLIEST:
        return calibration
    realised = cycle_ms(situation)
    if realised is None:
        return replace(calibration, pending=None)
    return judged(calibration, realised)


def announced(
    calibration: Calibration, situation: Situation, proposal: Proposal, shares: Shares
) -> Calibration:
    """The calibration with the interval for `shares`, which go into force now.

    An open one stays while its shares do. There is none without a curve that reaches the shares.
    """
    said = calibration.pending
    if said is not None and _in_force(said, shares):
        return calibration
    predicted = predicted_ms(proposal, shares)
    if predicted is None or not 0 < predicted < math.inf:
        return replace(calibration, pending=None)
    held_out = situation.held_out_spread
    interval = Interval(
        time_s=situation.now_s,
        shares=shares,
        predicted_ms=predicted,
        spread=combined(_members(proposal, shares), held_out),
        held_out=held_out,
        quantile=0.0,
    )
    return foreseen(calibration, interval)


def _in_force(said: Interval, shares: Shares) -> bool:
    return len(said.shares) == len(shares) and distance(said.shares, shares) < NEGLIGIBLE


def _members(proposal: Proposal, shares: Shares) -> float:
    """How far the members of the ensemble lie apart at these shares; 0 without one."""
    if not proposal.spreads:
        return 0.0
    ratios = [point.ratio for point in proposal.curve]
    return float(np.interp(shares[0], ratios, proposal.spreads))
