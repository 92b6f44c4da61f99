"""The instances of one service as one client sees them: who is out, who is next.

Owned by `directory`, which holds its lock while it calls. The rules are those of
`controlplane.domain.instances`; what is kept here is what they need from one choice to the next.
"""

import random
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import islice

from controlplane.domain.errors import NotFound
from controlplane.domain.health.ejection import WELL, Event, Health, Limits, State, after
from controlplane.domain.instances.connections import least_of_two
from controlplane.domain.instances.hashing import bounded, consistent
from controlplane.domain.instances.placement import (
    EVERY_VERSION,
    Instance,
    Placement,
    placement,
)
from controlplane.domain.instances.serving import Group, serving
from controlplane.domain.instances.smooth import smooth
from controlplane.domain.services import LoadBalancing
from controlplane.domain.snapshot import ServiceEndpoints

# How many of one cluster are looked at when one of them fails.
MOST_NEIGHBOURS = 50
# Clients that start together must not all begin with the same instance.
MOST_FIRST_TURNS = 64
# One bad instance is left to its neighbours; after two failures it may be the whole cluster.
OTHER_CLUSTER_AFTER = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a choice goes by.

    Attributes:
        key: what to be sticky by, where the service's policy is; "" is nothing.
        tried: where the same request has failed already.
    """

    key: str = ""
    version: str = EVERY_VERSION
    tried: tuple[Instance, ...] = ()


@dataclass(slots=True)
class Turns:
    """Smooth round robin over some names, with a first turn by chance."""

    currents: dict[str, int] = field(default_factory=dict)

    def next(self, weights: Mapping[str, int], rng: random.Random) -> str:
        """The next name."""
        if not self.currents:
            for _ in range(rng.randrange(MOST_FIRST_TURNS)):
                _, self.currents = smooth(weights, self.currents)
        name, self.currents = smooth(weights, self.currents)
        return name


class Rotation:
    """One service."""

    def __init__(
        self, service: ServiceEndpoints, weights: Mapping[str, int], limits: Limits, seed: int
    ) -> None:
        self._limits = limits
        self._rng = random.Random(seed)
        self._healths: dict[str, Health] = {}
        self._loads: Counter[str] = Counter()
        self._turns: dict[tuple[str, str], Turns] = {}
        self.update(service, weights)

    def update(self, service: ServiceEndpoints, weights: Mapping[str, int]) -> None:
        """Go by another configuration; who stays keeps its health, its turn and its load."""
        self.service = service
        self._weights = weights
        self._placements: dict[str, Placement] = {}
        self._serving: dict[str, tuple[Group, ...]] = {}
        placed = self._placement(EVERY_VERSION)
        self.instances = {
            one.name: one for tier in placed.tiers for site in tier for one in site.instances
        }
        self._healths = {n: h for n, h in self._healths.items() if n in self.instances}

    def pick(self, wish: Wish) -> Instance:
        """The instance that a request gets; NotFound when there is none to choose from."""
        groups = self._groups(wish)
        if not groups:
            what = "" if wish.version == EVERY_VERSION else f" of version {wish.version}"
            raise NotFound(
                "instance_not_found",
                f"service {self.service.service} has no endpoint{what} in the configuration; "
                "declare one",
            )
        by_name = {group.name: group for group in groups}
        weights = {group.name: group.weight for group in groups}
        sticky = self.service.load_balancing.sticky and bool(wish.key)
        if sticky:
            group = by_name[consistent(wish.key, weights)]
        else:
            group = by_name[self._turn(wish.version, "").next(weights, self._rng)]
        return self.instances[self._member(group, wish)]

    def begin(self, name: str) -> None:
        """A request is in work."""
        self._loads[name] += 1

    def end(self, name: str) -> None:
        """A request is no longer in work."""
        self._loads[name] -= 1
        if self._loads[name] <= 0:
            del self._loads[name]

    def tell(self, name: str, event: Event, now_s: float) -> State | None:
        """Take what became of a request or a probe; the state, None when it is gone."""
        if name not in self.instances:
            return None
        state = self._change(name, event, now_s)
        if event is Event.FAILED:
            for other in islice(self._neighbours(name), MOST_NEIGHBOURS):
                self._change(other, Event.NEIGHBOUR_FAILED, now_s)
        return state

    @property
    def doubtful(self) -> tuple[str, ...]:
        """Names that are probed: suspects, and those that are out."""
        return tuple(n for n, h in self._healths.items() if h.state is not State.HEALTHY)

    @property
    def out(self) -> frozenset[str]:
        """Names that get no requests."""
        return frozenset(n for n, h in self._healths.items() if h.state is State.OUT)

    def _change(self, name: str, event: Event, now_s: float) -> State:
        before = self._healths.get(name, WELL)
        health = after(before, event, now_s, self._limits)
        self._healths[name] = health
        if health == WELL:
            del self._healths[name]
        if (health.state is State.OUT) is not (before.state is State.OUT):
            self._serving.clear()
        return health.state

    def _neighbours(self, name: str) -> list[str]:
        own = self.instances[name]
        place = (own.datacenter, own.cluster)
        return [
            other.name
            for other in self.instances.values()
            if (other.datacenter, other.cluster) == place and other.name != name
        ]

    def _placement(self, version: str) -> Placement:
        if version not in self._placements:
            self._placements[version] = placement(self.service, self._weights, version)
        return self._placements[version]

    def _groups(self, wish: Wish) -> tuple[Group, ...]:
        if wish.tried:
            return serving(self._placement(wish.version), self.out | self._avoided(wish.tried))
        if wish.version not in self._serving:
            self._serving[wish.version] = serving(self._placement(wish.version), self.out)
        return self._serving[wish.version]

    def _avoided(self, tried: Collection[Instance]) -> frozenset[str]:
        """Who was tried; after that their clusters, unless nobody would be left."""
        names = frozenset(one.name for one in tried)
        if len(names) < OTHER_CLUSTER_AFTER:
            return names
        near = frozenset(
            other for name in names & self.instances.keys() for other in self._neighbours(name)
        )
        return names if names | near >= self.instances.keys() else names | near

    def _member(self, group: Group, wish: Wish) -> str:
        weights = dict(group.members)
        match self.service.load_balancing:
            case LoadBalancing.MAGLEV if wish.key:
                return consistent(wish.key, weights)
            case LoadBalancing.BOUNDED_HASH if wish.key:
                return bounded(wish.key, weights, self._loads)
            case LoadBalancing.LEAST_CONNECTIONS:
                draws = (self._rng.random(), self._rng.random())
                return least_of_two(weights, self._loads, draws)
            case _:
                return self._turn(wish.version, group.name).next(weights, self._rng)

    def _turn(self, version: str, group: str) -> Turns:
        return self._turns.setdefault((version, group), Turns())
