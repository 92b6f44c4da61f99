"""What a strategy is told and what it answers.

Built by the engine once per service and cycle; every strategy and every guardrail reads the same
value, so a recorded situation replays a decision.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.features import CENTERS
from controlplane.domain.findings import Observation
from controlplane.domain.services import Cluster, Service, StrategyName
from controlplane.domain.strategies.queue_law import CenterLaw
from controlplane.domain.strategies.regions import Rows, SourceRegion
from controlplane.domain.telemetry import ServiceWindow
from controlplane.domain.topology import Datacenter, Role
from controlplane.domain.uncertainty import UNKNOWN_SPREAD

FloatArray = NDArray[np.float64]

# x: (n, 14) in the order of features.FEATURE_NAMES, not scaled -> (n,).
Network = Callable[[FloatArray], FloatArray]
# The same x -> (members, n), one row for each network.
Ensemble = Callable[[FloatArray], FloatArray]

Answer = TypeVar("Answer")

Shares = tuple[float, ...]

# Shares at which a `CenterCurve` says what it predicts: (101,).
GRID_OF_MANY: FloatArray = np.arange(101) / 100.0
GRID_OF_MANY.flags.writeable = False

# Roles that bear traffic in normal times; the others join when these have no room left.
ACTIVE_ROLES = frozenset({Role.PRIMARY, Role.SAME_CITY})


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedModel:
    """A trained model as the domain sees it; torch-free.

    Attributes:
        network: predicts the mean response time in ms (`paper_mlp`, `projected_mlp`).
        ensemble: its members predict log(response time / greybox), without unit (`hybrid`).
        laws: one queue law per data centre, primary first; () when the fit is not to be trusted.
        centers: names of the data centres of the laws; () knows two by their place.
        feature_low, feature_high: (14,) training range of each input.
        ratio_low, ratio_high: the 1 % and 99 % quantile of the primary's share in training.
        profile: mean load by part of the day, relative to the day's mean, equal parts; () is flat.
        residual_spread: standard deviation of the relative error on held-out rows.
        objection: why its examination says that it may not serve; "" when it does not.
    """

    digest: str
    network: Network | None = None
    ensemble: Ensemble | None = None
    laws: tuple[CenterLaw, ...] = ()
    centers: tuple[str, ...] = ()
    feature_low: tuple[float, ...] = ()
    feature_high: tuple[float, ...] = ()
    ratio_low: float = 0.0
    ratio_high: float = 1.0
    profile: tuple[float, ...] = ()
    residual_spread: float = 0.0
    objection: str = ""

    def knows(self, centers: Sequence[str]) -> bool:
        """Whether it has something to say about these data centres."""
        if self.centers:
            return set(centers) <= set(self.centers)
        return len(centers) == len(CENTERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPool:
    """What a pool bears beside the service that is decided now.

    Work is counted in requests of cost 1 per second.

    Attributes:
        use_per_work: utilisation that one unit of work costs.
        others: work of the other services; NaN is unknown.
        by_cpu: whether CPU told, not the declared capacity.
    """

    name: str
    use_per_work: float
    others: float
    by_cpu: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Center:
    """One data centre of the service: what is declared, and what else its pool bears."""

    datacenter: Datacenter
    cluster: Cluster
    shared: SharedPool | None = None

    @property
    def name(self) -> str:
        """The data centre's name."""
        return self.datacenter.name

    @property
    def serves(self) -> bool:
        """Whether it is there to bear traffic in normal times, by role; the others are reserves."""
        return self.datacenter.role in ACTIVE_ROLES

    @property
    def active(self) -> bool:
        """Whether it bears traffic in normal times: by role, and it has an endpoint."""
        return self.serves and bool(self.cluster.endpoints)


@dataclass(frozen=True, slots=True, kw_only=True)
class Muster:
    """Who bears traffic from now on, where the service has reserves.

    Attributes:
        bearing: one flag per centre; () is by role.
        joining, leaving: names of reserves, in the order in which they do.
        notes: why.
    """

    bearing: tuple[bool, ...] = ()
    joining: tuple[str, ...] = ()
    leaving: tuple[str, ...] = ()
    notes: tuple["Note", ...] = ()

    @property
    def changing(self) -> bool:
        """Whether a reserve joins or leaves."""
        return bool(self.joining or self.leaving)


def once(ask: Callable[["Situation"], Answer]) -> Callable[["Situation"], Answer]:
    """A pure function of a situation that is worked out the first time it is asked.

    Strategy and guards need the same few facts. The answer lies with the situation and goes with
    it, so that nothing is remembered from one decision to the next.
    """

    @wraps(ask)
    def answered(situation: "Situation") -> Answer:
        if ask not in situation._answers:
            situation._answers[ask] = ask(situation)
        answer: Answer = situation._answers[ask]
        return answer

    return answered


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Everything that a decision may depend on.

    Attributes:
        centers: in the fleet's order, so the primary is first.
        applied: shares in force, in that order; they sum to 1.
        now_s: UTC epoch seconds.
        period_s: length of a sample's period; `cycle_s`: time between two decisions; `day_s`:
            length of a day, which is less where time is scaled.
        model: the one in service; None without one, and while it is demoted.
        demoted_model: digest of a model that the skill guard took out of service.
        suspicions: what is suspicious about the metrics; `window` has trusted samples only.
        muster: who bears traffic; without one it is by role.
        moved_s: time of the last move, UTC epoch seconds; -inf when none is remembered.
        regions: splits by source region, of which `applied` is the sum; () but for `regional`.
    """

    service: Service
    centers: tuple[Center, ...]
    window: ServiceWindow
    applied: Shares
    now_s: float
    period_s: float = 60.0
    cycle_s: float = 300.0
    day_s: float = 86_400.0
    model: LearnedModel | None = None
    demoted_model: str = ""
    suspicions: tuple[Observation, ...] = ()
    muster: Muster = Muster()
    moved_s: float = -math.inf
    regions: tuple[SourceRegion, ...] = ()
    # What `once` has worked out about it; no part of its value.
    _answers: dict[Callable[..., Any], Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    @once
    def bearing(self) -> tuple[bool, ...]:
        """Which centres bear traffic: by the muster, else the active ones.

        When no active one has an endpoint, it is every one that has.
        """
        if self.muster.bearing:
            return self.muster.bearing
        active = tuple(center.active for center in self.centers)
        usable = tuple(bool(center.cluster.endpoints) for center in self.centers)
        return next((flags for flags in (active, usable) if any(flags)), (True,) * len(active))

    @property
    @once
    def awaited(self) -> tuple[bool, ...]:
        """Which bearing centres must have reported: a reserve that joins has had no time to."""
        bearing = self.bearing
        active = tuple(b and c.active for b, c in zip(bearing, self.centers, strict=True))
        return active if any(active) else bearing

    @property
    def held_out_spread(self) -> float:
        """Spread of the model's relative error on held-out rows, > 0; a usual one if unknown."""
        spread = self.model.residual_spread if self.model is not None else 0.0
        return spread if 0 < spread < math.inf else UNKNOWN_SPREAD


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """Predicted mean response time if the primary had this share."""

    ratio: float
    response_time_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CenterCurve:
    """Predicted mean response time of one data centre at each share of `GRID_OF_MANY`.

    The mean over all is the sum of share times response time. NaN where a centre that does not
    bear traffic is unknown.
    """

    datacenter: str
    response_time_ms: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Why something was proposed, trimmed or refused: a stable code and a sentence."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A strategy's answer.

    Attributes:
        shares: in the order of `Situation.centers`, sum 1.
        curve: objective over the candidates, () for a rule without one.
        spreads: how far the members of the ensemble lie apart at each point of the curve, as a
            standard deviation of the logarithm; () without an ensemble.
        center_curves: in its place for more than two centres, one each.
        regions: a row for each source region of the situation, of which `shares` is the sum.
        learned: whether a trained model decided (the support box applies).
        urgent: a data centre is above its alarm level: move at once (dwell is waived).
        failed: the model was asked and had no finite answer, or raised.
        strategy: the rule that really answered; a learned one without a model falls back and
            leaves a note.
    """

    strategy: str
    shares: Shares
    curve: tuple[CurvePoint, ...] = ()
    spreads: tuple[float, ...] = ()
    center_curves: tuple[CenterCurve, ...] = ()
    regions: Rows = ()
    learned: bool = False
    urgent: bool = False
    failed: bool = False
    notes: tuple[Note, ...] = ()

    @property
    def predicts(self) -> bool:
        """Whether it says what a split would bring."""
        return bool(self.curve or self.center_curves)

    @property
    def modeled(self) -> bool:
        """Whether a trained model says so, and not the laws that stand in for one."""
        return self.predicts and self.strategy != StrategyName.OBSERVED_LAWS
