"""Time constants of the engine. They scale together, so a demo lives an hour in a minute."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Cadence:
    """All in seconds.

    Attributes:
        period_s: length of a sample's period.
        cycle_s: between two decisions of a service.
        window_s: how much history the windows keep.
        day_s: length of a day, for the daily profile of the load.
    """

    period_s: float = 60.0
    cycle_s: float = 300.0
    window_s: float = 3600.0
    day_s: float = 86_400.0


def scaled(cadence: Cadence, factor: float) -> Cadence:
    """Every time constant times `factor` (> 0; 1/30 makes a five-minute cycle ten seconds)."""
    return Cadence(
        period_s=cadence.period_s * factor,
        cycle_s=cadence.cycle_s * factor,
        window_s=cadence.window_s * factor,
        day_s=cadence.day_s * factor,
    )
