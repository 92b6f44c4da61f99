"""Who plays in a backtest: a strategy, and how it is let loose.

Written as `hybrid`, `hybrid:dither`, `paper_mlp:bare`. Behind the envelope is the default; bare,
what a strategy proposes is what happens, and no guard has a say.
"""

from dataclasses import dataclass

from controlplane.domain.errors import Invalid
from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.registry import LEARNED, STRATEGIES

BARE, DITHER = "bare", "dither"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """A strategy under test.

    Attributes:
        label: how it was asked for; the key of its results.
        bare: without the envelope.
        dither: with small drawn offsets, so that the effect of the split can be learned.
    """

    label: str
    strategy: StrategyName
    bare: bool = False
    dither: bool = False

    @property
    def learned(self) -> bool:
        """Whether it asks a trained model."""
        return self.strategy in LEARNED


def contestant(label: str) -> Contestant:
    """Read a contestant from its label.

    Raises:
        Invalid: no such strategy or option, or bare and dither at once: dither is the envelope's.
    """
    name, *options = label.split(":")
    if name not in {str(strategy) for strategy in STRATEGIES}:
        known = ", ".join(sorted(STRATEGIES))
        raise Invalid("contestant_unknown", f"no strategy {name!r}: use one of {known}")
    unknown = sorted(set(options) - {BARE, DITHER})
    if unknown or len(set(options)) != len(options) or {BARE, DITHER} <= set(options):
        message = f"{label!r}: after the strategy may stand :{BARE} or :{DITHER}, not both"
        raise Invalid("contestant_invalid", message)
    return Contestant(
        label=label,
        strategy=StrategyName(name),
        bare=BARE in options,
        dither=DITHER in options,
    )
