"""Priority shedding: what matters least is refused first, and for a while to the same users.

After overload control in WeChat (Zhou et al., SoCC 2018): a request has a level, made of the rank
of its class and of the cohort of its user, and the levels below a threshold are admitted. Cohorts
are dealt anew each `epoch_s`: within it the same users get through all steps of what they do, and
nobody is refused for good. After each window the threshold moves to where the levels below it
bring what the upstream bears. It falls at once, and rises by a part of the way, because requests
that were refused before come back.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from controlplane.domain.admission.asking import ADMITTED, Asked, Decision, Verdict
from controlplane.domain.admission.rate_limit import client
from controlplane.domain.errors import Invalid

COHORTS = 64
MOST_CLASSES = 16
# Of what an overloaded upstream finished, so much is given to it; one that is well gets so much
# more than it had.
EASED, GROWN = 0.95, 1.05
# Part of the way that the threshold rises after one window.
RISE = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityClass:
    """One class: requests of these routes or services; with neither it is all the rest."""

    name: str
    routes: tuple[str, ...] = ()
    services: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PrioritySheddingPolicy:
    """Who is refused first, and when.

    Attributes:
        classes: up to 16, those that matter most first; the first that fits counts, and what fits
            none belongs behind the last. None at all: cohorts alone.
        capacity_rps: what the upstream bears, above 0; None learns it from response time.
        target_ms: mean response time from which the upstream is overloaded, above 0; None looks
            at the capacity alone. One of the two is needed.
        window_s: the threshold moves after so long, 0.1..60.
        epoch_s: cohorts are dealt anew after so long, 60..86,400.
        status: of what is refused, 429 or 503.
    """

    classes: tuple[PriorityClass, ...] = ()
    capacity_rps: float | None = None
    target_ms: float | None = 500.0
    window_s: float = 1.0
    epoch_s: float = 600.0
    status: int = 503


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What an upstream did in a window: requests admitted and finished, and how long they took.

    Attributes:
        mean_ms: of the finished ones; None when none finished, or nobody knows.
    """

    admitted: int
    finished: int
    mean_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SheddingFacts:
    """What is known beside the request: levels below `threshold` are admitted."""

    threshold: float = math.inf


def check_priority_shedding(policy: PrioritySheddingPolicy) -> None:
    """Raise Invalid `policy_invalid` for what cannot be carried out."""
    if policy.capacity_rps is None and policy.target_ms is None:
        raise _invalid("neither capacity_rps nor target_ms is given: one says when it is too much")
    for name in ("capacity_rps", "target_ms"):
        value = getattr(policy, name)
        if value is not None and not 0 < value <= 10_000_000:
            raise _invalid(f"{name} is {value}: give more than 0, up to 10,000,000")
    for name, low, high in (("window_s", 0.1, 60.0), ("epoch_s", 60.0, 86_400.0)):
        value = getattr(policy, name)
        if not low <= value <= high:
            raise _invalid(f"{name} is {value}: give {low}..{high}")
    if policy.status not in {429, 503}:
        raise _invalid(f"status is {policy.status}: give 429 or 503")
    names = [one.name for one in policy.classes]
    if len(names) > MOST_CLASSES or len(set(names)) < len(names):
        raise _invalid(f"classes has {len(names)}: keep it within {MOST_CLASSES}, each name once")


def _invalid(words: str) -> Invalid:
    return Invalid("policy_invalid", f"priority_shedding: {words}")


def levels(policy: PrioritySheddingPolicy) -> int:
    """How many levels there are: 64 cohorts of each class, and of what fits none."""
    return COHORTS * (len(policy.classes) + 1)


def level(policy: PrioritySheddingPolicy, asked: Asked) -> int:
    """The level of a request, 0 matters most."""
    return COHORTS * _rank(policy, asked) + _cohort(policy, asked)


def decide(policy: PrioritySheddingPolicy, asked: Asked, facts: SheddingFacts) -> Decision:
    """Whether a request's level is admitted."""
    if level(policy, asked) < facts.threshold:
        return ADMITTED
    rank = _rank(policy, asked)
    named = policy.classes[rank].name if rank < len(policy.classes) else "others"
    return Decision(
        verdict=Verdict.REFUSE,
        reason="priority_shed",
        status=policy.status,
        # Not sooner than the next threshold, and not all refused ones at the same moment.
        retry_after_s=policy.window_s * (1 + _cohort(policy, asked) % 8),
        details={"class": named, "cohort": _cohort(policy, asked), "cohorts": COHORTS},
    )


def next_threshold(
    policy: PrioritySheddingPolicy, threshold: float, arrivals: Sequence[int], load: Load
) -> float:
    """Where the threshold stands in the next window; infinity admits everything.

    Args:
        arrivals: requests that came in this window, by level, refused ones too.
    """
    bears = _bears(policy, load)
    if sum(arrivals) <= bears:
        wanted = math.inf
    else:
        below = accumulate(arrivals)
        wanted = float(sum(1 for count in below if count <= bears))
    if wanted <= threshold:
        return wanted
    # All levels are as good as infinity, and a place to rise to.
    top = float(min(wanted, levels(policy)))
    risen = threshold + max(1.0, RISE * (top - threshold))
    return math.inf if risen >= levels(policy) else math.floor(risen)


def _bears(policy: PrioritySheddingPolicy, load: Load) -> float:
    """Requests that the upstream may get in a window."""
    declared = math.inf if policy.capacity_rps is None else policy.capacity_rps * policy.window_s
    if policy.target_ms is None or load.mean_ms is None:
        return declared
    if load.mean_ms > policy.target_ms:
        return min(declared, EASED * load.finished)
    return min(declared, max(1.0, GROWN * load.admitted))


def _rank(policy: PrioritySheddingPolicy, asked: Asked) -> int:
    for rank, one in enumerate(policy.classes):
        everything = not one.routes and not one.services
        if everything or asked.route in one.routes or asked.service in one.services:
            return rank
    return len(policy.classes)


def _cohort(policy: PrioritySheddingPolicy, asked: Asked) -> int:
    """The cohort of a user in this epoch; one whom nobody knows is his address."""
    who = asked.user or client(asked.request.source)
    text = f"{math.floor(asked.now_s / policy.epoch_s)}:{who}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[0] % COHORTS
