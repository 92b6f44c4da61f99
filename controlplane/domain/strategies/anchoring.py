"""Anchors: the laws of a model, brought to what is measured now where they are clearly off.

A fitted law is wrong where the world is not like a queue, or has changed since. The ratio m of
measured to predicted response time over the last periods, of each centre by itself, is what it is
off by here and now; the law is multiplied with it, after taking off what noise alone explains:

    x = mean of log(measured / f(rho))
    m = exp(sign(x) max(|x| - s / (2 sqrt(n)), 0)),  |log m| <= 0.3

with s the spread of the model's error on held-out rows and n the number of periods. So a sound law
stays as it is, and the direction of a choice does not rest on a level that is known to be wrong.
Only the choice is anchored: what a strategy forecasts stays at the model's own level, by which the
skill guard and early retraining judge it.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from controlplane.domain.strategies.center_use import recent
from controlplane.domain.strategies.queue_law import CenterLaw, response_time_at_cpu_ms
from controlplane.domain.strategies.situation import Center, Situation

# Beyond this a law is not off, it is another one's: the skill guard's business.
MOST = 0.3
# Standard errors that noise is taken to explain.
NOISE = 0.5


def anchored(situation: Situation, laws: Sequence[CenterLaw]) -> tuple[CenterLaw, ...]:
    """The laws, one per centre, each times its own ratio of measured to predicted."""
    spread = situation.held_out_spread
    return tuple(
        _times(law, _ratio(situation, center, law, spread))
        for center, law in zip(situation.centers, laws, strict=True)
    )


def _times(law: CenterLaw, ratio: float) -> CenterLaw:
    if ratio == 1.0:
        return law
    return replace(law, base_ms=law.base_ms * ratio, wait_ms=law.wait_ms * ratio)


def _ratio(situation: Situation, center: Center, law: CenterLaw, spread: float) -> float:
    """1 where noise explains the difference, or nothing is known."""
    errors = [
        math.log(sample.response_time_ms / predicted)
        for sample in recent(situation, center)
        if sample.cpu_avg is not None
        and sample.response_time_ms > 0
        and 0 < (predicted := response_time_at_cpu_ms(law, sample.cpu_avg)) < math.inf
    ]
    if not errors:
        return 1.0
    off = math.fsum(errors) / len(errors)
    beyond = max(abs(off) - NOISE * spread / math.sqrt(len(errors)), 0.0)
    return math.exp(math.copysign(min(beyond, MOST), off))
