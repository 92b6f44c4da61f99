"""What speaks against a model before it meets traffic: its examination, and the champion. Pure.

The rows of a training cannot tell that all of them are in another unit, or that the two centres
were exchanged throughout: such a model fits them perfectly. The champion can. Read by
`engine.learning.models` when a model is registered and when it is promoted.
"""

import math
from collections.abc import Sequence

from controlplane.domain.strategies.queue_law import CenterLaw, response_time_ms
from controlplane.domain.strategies.situation import LearnedModel

# Half full: what a law says there is known best.
HALF = 0.5
# No centre becomes that much faster or slower between two trainings; the smallest factor between
# two units of time is 60.
MOST_LEVEL = 8.0
# Laws that are this many times nearer to the other centre's of the champion are exchanged, if the
# champion's own are further apart than this factor.
EXCHANGED, APART = 4.0, 1.5


def objection_to(
    model: LearnedModel, champion: LearnedModel | None, centers: Sequence[str] = ()
) -> str:
    """Why a model may not serve unless somebody forces it, in words; "" when nothing says so.

    Args:
        centers: the data centres of its service; () is not declared yet.
    """
    against = [model.objection, _strange(model, centers)]
    if champion is not None and champion.laws and _same_centers(model, champion):
        against += [_another_level(model.laws, champion.laws), _exchanged(model, champion)]
    return "; ".join(words for words in against if words)


def _strange(model: LearnedModel, centers: Sequence[str]) -> str:
    """Laws of other data centres would never be asked, and so never be judged."""
    if not (model.centers and centers) or model.knows(centers):
        return ""
    return (
        f"centers_unknown: its laws are of {', '.join(model.centers)}, the service is in "
        f"{', '.join(centers)}"
    )


def _same_centers(model: LearnedModel, champion: LearnedModel) -> bool:
    return len(champion.laws) == len(model.laws) and champion.centers == model.centers


def _another_level(laws: Sequence[CenterLaw], before: Sequence[CenterLaw]) -> str:
    factors = [_half_full_ms(a) / _half_full_ms(b) for a, b in zip(laws, before, strict=True)]
    worst = max(factors, key=lambda factor: abs(math.log(factor)))
    if abs(math.log(worst)) <= math.log(MOST_LEVEL):
        return ""
    return (
        f"level_changed: at half load it says {worst:.3g} times the champion's response time, "
        f"more than a factor of {MOST_LEVEL:g}: were units changed?"
    )


def _exchanged(model: LearnedModel, champion: LearnedModel) -> str:
    """Laws have lengths in the logarithm of the response time at half load."""
    if len(model.laws) != 2:
        return ""
    first, second = (math.log(_half_full_ms(law)) for law in model.laws)
    one, other = (math.log(_half_full_ms(law)) for law in champion.laws)
    straight = abs(first - one) + abs(second - other)
    crossed = abs(first - other) + abs(second - one)
    # Not a number, as of laws beyond floats, is another matter.
    if not (abs(one - other) > math.log(APART) and straight > EXCHANGED * crossed):
        return ""
    return (
        "centers_exchanged: its laws are those of the champion with the data centres exchanged: "
        "were their metrics?"
    )


def _half_full_ms(law: CenterLaw) -> float:
    # Laws at the edge of floats have neither a factor nor a logarithm.
    return min(max(float(response_time_ms(law, HALF)), 1e-9), 1e12)
