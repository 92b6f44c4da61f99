"""Strategies that ask the 14-64-32-1 network: paper_mlp (S4 to the letter) and projected_mlp.

Both read the newest sample of each data centre and differ in what they ask: the paper holds all
metrics still while the ratio varies, the other moves CPU, bandwidth and share to where each
candidate would bring them. Two data centres only; otherwise they fall back.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from controlplane.domain.features import CenterColumns, center_columns, design_matrix
from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.candidates import GRID, choose
from controlplane.domain.strategies.center_use import (
    declared_law,
    declared_uses,
    observed_shares,
    own_part,
    trusted_laws,
    window_shares,
)
from controlplane.domain.strategies.fallback import fall_back
from controlplane.domain.strategies.rules import hold, missing_metrics
from controlplane.domain.strategies.situation import Network, Note, Proposal, Situation

FloatArray = NDArray[np.float64]

# Below this share a centre's CPU and bandwidth tell nothing about a larger share.
SMALLEST_SHARE = 0.01


def paper_mlp(situation: Situation) -> Proposal:
    """S4: newest metrics, frozen, joined with each of 61 ratios; the smallest prediction wins."""
    network = _network(situation)
    if isinstance(network, Note):
        return fall_back(situation, network)
    if note := missing_metrics(situation):
        return hold(situation, StrategyName.PAPER_MLP, note)
    if note := unmeasured(situation):
        return fall_back(situation, note)
    x = design_matrix(*_newest(situation), GRID)
    return choose(situation, StrategyName.PAPER_MLP, network(x), learned=True)


def projected_mlp(situation: Situation) -> Proposal:
    """The same network, asked about the state that each candidate would bring about."""
    network = _network(situation)
    if isinstance(network, Note):
        return fall_back(situation, network)
    if note := missing_metrics(situation) or without_share(situation):
        return hold(situation, StrategyName.PROJECTED_MLP, note)
    if note := unmeasured(situation):
        return fall_back(situation, note)
    x = projected_rows(situation)
    return choose(situation, StrategyName.PROJECTED_MLP, network(x), learned=True)


def projected_rows(situation: Situation) -> FloatArray:
    """x (61, 14): the newest metrics, moved to each candidate of `GRID`.

    cpu' = idle + (cpu - idle) s'/s up to 1, bandwidth' = bandwidth s'/s, traffic share' = s';
    memory and disk stay (LAB-learning.md section 2). s is the observed share. Two centres, each
    with a sample and a share (`unmeasured`, `without_share`).
    """
    laws = trusted_laws(situation) or tuple(declared_law(c) for c in situation.centers)
    own = [own_part(use) for use in declared_uses(situation)]
    candidates = (GRID, 1.0 - GRID)
    now = observed_shares(situation)
    moved = [
        _moved(columns, now[index], candidates[index], laws[index].idle_cpu, own[index])
        for index, columns in enumerate(_newest(situation))
    ]
    return design_matrix(moved[0], moved[1], GRID)


def without_share(situation: Situation) -> Note | None:
    """A note when a centre has too little traffic to project from; None otherwise."""
    if min(observed_shares(situation)) >= SMALLEST_SHARE:
        return None
    return Note(
        code="share_too_small",
        message=f"a data centre has less than {SMALLEST_SHARE:g} of the load: nothing to project",
    )


def unmeasured(situation: Situation) -> Note | None:
    """A note that names the centres without a sample, as a reserve may be; None if all have one."""
    names = [c.name for c in situation.centers if situation.window.latest(c.name) is None]
    if not names:
        return None
    message = f"no sample from {', '.join(names)}: the network reads both"
    return Note(code="metrics_missing", message=message)


def _network(situation: Situation) -> Network | Note:
    if len(situation.centers) != 2:
        return Note(code="not_two_centers", message="the network knows two data centres only")
    if situation.model is None or situation.model.network is None:
        return Note(code="model_missing", message="the service has no trained network")
    return situation.model.network


def _newest(situation: Situation) -> tuple[CenterColumns, CenterColumns]:
    shares = window_shares(situation)
    primary, secondary = (
        center_columns(sample, shares.get(center.name))
        for center in situation.centers
        if (sample := situation.window.latest(center.name)) is not None
    )
    return primary, secondary


def _moved(
    columns: CenterColumns, now: float, candidates: FloatArray, idle_cpu: float, own: float
) -> CenterColumns:
    """Bandwidth follows the scale of the own load, CPU as far as it is by the own load."""
    scale = candidates / now
    busier = scale if own == 1.0 else 1.0 + own * (scale - 1.0)

    def cpu(value: ArrayLike) -> FloatArray:
        busy = idle_cpu + (np.asarray(value) - idle_cpu) * busier
        return np.minimum(np.maximum(busy, 0.0), 1.0)

    return CenterColumns(
        cpu_avg=cpu(columns.cpu_avg),
        cpu_max=cpu(columns.cpu_max),
        ingress_bandwidth_bps=np.asarray(columns.ingress_bandwidth_bps) * scale,
        memory=columns.memory,
        disk=columns.disk,
        traffic_share=candidates,
    )
