"""From where on input is suspicious. Settings fill it, every judge here reads it."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspicionLimits:
    """Limits of the suspicion guard. Shares are 0..1.

    Attributes:
        frozen_samples: samples in a row with equal readings that are frozen (>= 2).
        frozen_readings: a sample with fewer readings is never called frozen.
        jump_factor: load or response time this many times above or below its median jumped (> 1).
        reference_samples: trusted samples that the median is taken of, at most.
        reference_least: with fewer nothing is judged (>= 1).
        idle_load: share of the declared capacity below which loads count as equal.
        idle_ms: response times below it count as equal.
        swap_distance: how far two data centres must be from their usual contrast, as the mean
            logarithm of a ratio, before they can be called exchanged.
        swap_clarity: and they are this many times nearer to the exchanged one.
        telling_share: difference of two shares in force from which on loads tell an exchange.
        share_tolerance: how exactly the loads then match the exchanged shares.
        most_removed: largest share of one kind of item that a change of the fleet may remove.
        most_changed: largest share of the routes that it may change or remove.
        few_routes: but fewer than so many changed routes are never suspicious (>= 1).
        most_moved: largest share of the traffic that it may move at once.
        memory_s: how long a refused change is shown, and how long a force lasts at most.
    """

    frozen_samples: int = 4
    frozen_readings: int = 3
    jump_factor: float = 20.0
    reference_samples: int = 15
    reference_least: int = 5
    idle_load: float = 0.02
    idle_ms: float = 2.0
    swap_distance: float = 0.20
    swap_clarity: float = 3.0
    telling_share: float = 0.10
    share_tolerance: float = 0.03
    most_removed: float = 0.30
    most_changed: float = 0.30
    few_routes: int = 10
    most_moved: float = 0.30
    memory_s: float = 3_600.0


def scaled(limits: SuspicionLimits, factor: float) -> SuspicionLimits:
    """The limits with the time constant multiplied by `factor` (> 0)."""
    return replace(limits, memory_s=limits.memory_s * factor)
