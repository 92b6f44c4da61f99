"""Queue laws of what is measured just now: no training, no model.

f(rho) = a (1 + q(rho; c) / c), with the declared number of machines c (one where none is declared)
and a such that the law meets the response time of the last periods. What they do not know is how
much of a response time is load: where something else than CPU is short, a centre looks slow, and
gets less. Read by `spread` and `fallback`.
"""

import math
from dataclasses import replace

import numpy as np

from controlplane.domain.strategies.center_use import CenterUse, declared_law, declared_uses, recent
from controlplane.domain.strategies.queue_law import CenterLaw, waiting
from controlplane.domain.strategies.situation import Center, Situation
from controlplane.domain.telemetry import load_measure, reading


def observed_laws(situation: Situation) -> tuple[CenterLaw, ...]:
    """Laws from what is declared and what was measured; () when no centre tells a base time.

    A centre without traffic of its own is taken to be as fast as the others are on average.
    """
    uses = declared_uses(situation)
    laws = [_machines(center) for center in situation.centers]
    bases = [
        _base_ms(situation, center, law, use)
        for center, law, use in zip(situation.centers, laws, uses, strict=True)
    ]
    known = [(base, use.load) for base, use in zip(bases, uses, strict=True) if base > 0]
    total = math.fsum(load for _, load in known)
    if not total > 0:
        return ()
    usual = math.fsum(base * load for base, load in known) / total
    return tuple(
        _law(law, base if base > 0 else usual) for law, base in zip(laws, bases, strict=True)
    )


def _machines(center: Center) -> CenterLaw:
    """The declared machines; one server where nothing is declared, so that waiting counts most."""
    return replace(declared_law(center), servers=float(center.cluster.servers or 1))


def _law(law: CenterLaw, base_ms: float) -> CenterLaw:
    return replace(law, base_ms=base_ms, wait_ms=base_ms / law.servers)


def _base_ms(situation: Situation, center: Center, law: CenterLaw, use: CenterUse) -> float:
    """Response time without load that explains the measured one; NaN without traffic."""
    history = recent(situation, center)
    measure = load_measure(history)
    loads = [reading(sample, measure) for sample in history]
    total = math.fsum(loads)
    if not (total > 0 and math.isfinite(use.use)):
        return math.nan
    times = (sample.response_time_ms for sample in history)
    mean_ms = math.fsum(load * time for load, time in zip(loads, times, strict=True)) / total
    return mean_ms / (1.0 + float(waiting(np.array(use.use), law.servers)) / law.servers)
