"""Who probes how often: no observer and no endpoint gets more probes than its budget.

Called by `engine.health.watch`. While there is room every observer probes every endpoint at its
declared interval. Where they have too much, each endpoint is left to a few of them that are elected
by its name, and at last intervals grow. Gateways' own checks are no part of it: they are what
leaves a dead place when the control plane is away, so no plan of the control plane may switch them
off.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

# Observers that are elected for an endpoint: so many can be outvoted by one more than one.
ELECTED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeBudget:
    """Probes per second, of observers; > 0."""

    per_prober: float = 500.0
    per_endpoint: float = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeLoad:
    """What there is to probe, and who is there to do it.

    Attributes:
        total_per_s: probes of all endpoints at their declared intervals, by one prober.
        fastest_per_s: of the endpoint that is asked most often.
        observers: >= 0.
    """

    total_per_s: float
    fastest_per_s: float
    observers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbePlan:
    """Who probes.

    Attributes:
        observers: how many ask one endpoint.
        stretch: declared intervals times this; >= 1.
    """

    observers: int
    stretch: float


def plan(load: ProbeLoad, budget: ProbeBudget) -> ProbePlan:
    """Who probes how often, within the budget of each."""
    observers = _asking(load, budget)
    own_per_s = load.total_per_s * observers / load.observers if load.observers else 0.0
    stretch = max(
        1.0,
        own_per_s / budget.per_prober,
        observers * load.fastest_per_s / budget.per_endpoint,
    )
    return ProbePlan(observers=observers, stretch=stretch)


def elected(name: str, observers: Iterable[str], count: int) -> tuple[str, ...]:
    """The observers that ask an endpoint, by name: the `count` highest by a hash of both.

    Rendezvous hashing (Thaler, Ravishankar 1998): one that comes or goes moves only its own part.
    """
    ranked = sorted(observers, key=lambda one: _rank(one, name), reverse=True)
    return tuple(sorted(ranked[:count]))


def _asking(load: ProbeLoad, budget: ProbeBudget) -> int:
    """All observers while each can ask everything and no endpoint is asked too often."""
    everyone = load.observers
    fits = (
        load.total_per_s <= budget.per_prober
        and everyone * load.fastest_per_s <= budget.per_endpoint
    )
    return everyone if fits else min(everyone, ELECTED)


def _rank(observer: str, name: str) -> bytes:
    return hashlib.sha256(f"{observer}\n{name}".encode()).digest()
