"""The values of the guards. Settings fill them, every guard reads them."""

from dataclasses import dataclass, replace

from controlplane.domain.dither import DitherMode


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvelopeLimits:
    """Limits of the envelope. Shares, utilisations and gains are 0..1.

    Attributes:
        fresh_s: age of a centre's newest sample beyond which nothing moves.
        ramp_after_s: age beyond which shares ramp to the static ratio.
        ramp_step: share moved in one cycle of that ramp.
        low, high: bounds of a centre's share when two bear traffic.
        low_of_many: lower bound when more than two do.
        step, hot_step: largest change of a share in one cycle, and the same when hot.
        hot_level: utilisation above which a centre is hot.
        leave_level: a reserve leaves when the others would stay below this utilisation.
        capacity_level, capacity_slack: a move keeps every centre below the larger of the level
            and the best reachable utilisation plus the slack.
        support_margin: how far a network may leave the shares of its training.
        gain, learned_gain: least relative gain of a move at the day's mean load, more in quiet
            hours and less in busy ones; the latter for bare networks.
        dwell_cycles: cycles between two moves.
        revert_cycles: cycles above the promised response time before the move is undone.
        revert_margin: least relative margin on that promise.
        revert_watch_s: how long after a move its promise counts.
        cooldown_s: pause after a revert.
        changes, changes_window_s: most moves in that time, unless hot.
        evacuations: most centres that automation may leave without traffic.
        skill_cycles: forecasts by which a model is judged.
        skill_margin, skill_spreads: relative error of a calm cycle that is never too much: the
            larger of the margin and so many spreads of the model's error on held-out rows, four
            times that for a model that has proved itself.
        skill_reverts: reverts within two change windows that demote a model.
        dither: which services are shifted by chance.
        dither_offset: the shift of a share; dither_cycles: cycles that one lasts.
        dither_cost: relative cost by the prediction that no shift may pass.
    """

    fresh_s: float = 120.0
    ramp_after_s: float = 600.0
    ramp_step: float = 0.02
    low: float = 0.20
    high: float = 0.80
    low_of_many: float = 0.05
    step: float = 0.05
    hot_step: float = 0.15
    hot_level: float = 0.88
    leave_level: float = 0.75
    capacity_level: float = 0.85
    capacity_slack: float = 0.03
    support_margin: float = 0.02
    gain: float = 0.018
    learned_gain: float = 0.02
    dwell_cycles: int = 2
    revert_cycles: int = 3
    revert_margin: float = 0.10
    revert_watch_s: float = 1_800.0
    cooldown_s: float = 1_800.0
    changes: int = 6
    changes_window_s: float = 3_600.0
    evacuations: int = 1
    skill_cycles: int = 12
    skill_margin: float = 0.05
    skill_spreads: float = 1.0
    skill_reverts: int = 2
    dither: DitherMode = DitherMode.DECLARED
    dither_offset: float = 0.02
    dither_cycles: int = 6
    dither_cost: float = 0.01


def scaled(limits: EnvelopeLimits, factor: float) -> EnvelopeLimits:
    """The limits with every time constant multiplied by `factor` (> 0); the demo profile.

    Limits in cycles follow the situation's own cycle and stay.
    """
    return replace(
        limits,
        fresh_s=limits.fresh_s * factor,
        ramp_after_s=limits.ramp_after_s * factor,
        revert_watch_s=limits.revert_watch_s * factor,
        cooldown_s=limits.cooldown_s * factor,
        changes_window_s=limits.changes_window_s * factor,
    )
