"""Any sequence of intents on overlapping targets: nobody is left alone, and all of it goes back.

A twin that never had an intent says what must be published once all of them have ended.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from controlplane.domain.decisions import Trigger
from controlplane.domain.errors import ControlPlaneError
from controlplane.domain.intents.intent import (
    Intent,
    IntentKind,
    IntentState,
    Preset,
    PresetName,
    Target,
    Wanted,
)
from controlplane.domain.routing.route import PathMatch, Route
from controlplane.domain.services import Cluster, Endpoint, Service, StickyMode, StrategyName
from controlplane.domain.snapshot import Content
from controlplane.domain.topology import Datacenter, Fleet, GatewayGroup, Role
from controlplane.engine.intents.intents import Ask
from tests.builders import OPERATOR
from tests.engine.rig import Rig

CENTERS = ("east", "west", "far")


def _cluster(center: str, *ports: int, name: str = "") -> Cluster:
    return Cluster(
        datacenter=center,
        name=name,
        capacity_rps=100.0,
        endpoints=tuple(Endpoint(address="10.0.0.1", port=port) for port in ports),
    )


SHOP = Service(
    name="shop",
    strategy=StrategyName.STATIC,
    clusters=(
        _cluster("east", 1, 2, name="old"),
        _cluster("east", 3, name="new"),
        _cluster("west", 4, 5),
        _cluster("far", 6),
    ),
)
CART = Service(
    name="cart",
    strategy=StrategyName.STATIC,
    stickiness=StickyMode.SESSION,
    clusters=(_cluster("east", 11), _cluster("west", 12)),
)
ALONE = Service(name="alone", strategy=StrategyName.STATIC, clusters=(_cluster("west", 21),))


def _fleet(*services: Service, centers: Sequence[str] = CENTERS) -> Fleet:
    roles = dict(zip(CENTERS, (Role.PRIMARY, Role.SAME_CITY, Role.DISASTER_RECOVERY), strict=True))
    return Fleet(
        datacenters=tuple(Datacenter(name=name, role=roles[name], region="r") for name in centers),
        services=tuple(
            replace(one, clusters=tuple(c for c in one.clusters if c.datacenter in centers))
            for one in services
        ),
        gateways=(GatewayGroup(name="edge", listen_port=10_000),),
        routes=tuple(
            Route(id=one.name, service=one.name, path=PathMatch(value=f"/{one.name}"))
            for one in services
        ),
    )


WHOLE = _fleet(SHOP, CART, ALONE)
RENAMED = replace(
    SHOP,
    clusters=tuple(replace(c, name="newer") if c.name == "new" else c for c in SHOP.clusters),
)
# A data centre goes, services go and come, a cluster has another name.
FLEETS = (
    WHOLE,
    _fleet(SHOP, CART, ALONE, centers=("east", "west")),
    _fleet(SHOP),
    _fleet(RENAMED, CART),
)

PARTS = tuple(
    Target(service=one.name, datacenter=c.datacenter, cluster=name, endpoint=endpoint)
    for one in (SHOP, CART, ALONE)
    for c in one.clusters
    for name, endpoint in [
        ("", ""),
        (c.name, ""),
        *(("", f"{e.address}:{e.port}") for e in c.endpoints),
    ]
)
PLACES = (*(Target(datacenter=name) for name in CENTERS), *PARTS)
SERVICES = tuple(Target(service=one.name) for one in (SHOP, CART, ALONE))

PRESETS = (
    Preset(name=PresetName.CIRCUIT_BREAK, concurrent=3, waiting=1),
    Preset(name=PresetName.RATE_LIMIT, rate_rps=5.0),
)


def _wanted(
    kind: IntentKind, targets: Sequence[Target], **values: Any
) -> st.SearchStrategy[Wanted]:
    return st.builds(
        Wanted,
        kind=st.just(kind),
        target=st.sampled_from(targets),
        return_s=st.sampled_from([0.0, 30.0]),
        force=st.booleans(),
        **values,
    )


WANTED = st.one_of(
    _wanted(IntentKind.FAILOVER, PLACES),
    _wanted(IntentKind.FAILOVER, PLACES[:3]),
    _wanted(IntentKind.DRAIN, PLACES, over_s=st.sampled_from([0.0, 30.0])),
    _wanted(IntentKind.RESTORE, PLACES[:3]),
    _wanted(
        IntentKind.PIN,
        SERVICES,
        shares=st.sampled_from(
            [(("east", 1.0),), (("west", 1.0),), (("west", 0.7), ("east", 0.3))]
        ),
    ),
    _wanted(IntentKind.FREEZE, (Target(), *SERVICES)),
    _wanted(
        IntentKind.PRESET,
        SERVICES,
        preset=st.sampled_from(PRESETS),
    ),
    _wanted(IntentKind.ROLLBACK, (Target(),), revision=st.integers(1, 4)),
)


class IntentSequences(RuleBasedStateMachine):
    """One control plane with intents, and a twin on the same clock without."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.rig = Rig()
        self.twin = Rig(clock=self.rig.clock)

    def teardown(self) -> None:
        try:
            self._end_all()
        finally:
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
            self.loop.close()

    @initialize()
    def begin(self) -> None:
        self.apply(0)

    @rule(wanted=WANTED, lasts_s=st.sampled_from([None, None, 20.0]))
    def make(self, wanted: Wanted, lasts_s: float | None) -> None:
        expires_s = None if lasts_s is None else self.rig.clock.now() + lasts_s
        with suppress(ControlPlaneError):
            self._do(
                self.rig.intents.create(
                    Ask(wanted=replace(wanted, expires_s=expires_s), author="ann")
                )
            )
        self._do(self.rig.follow())

    @precondition(lambda self: self.rig.intents.standing)
    @rule(data=st.data(), return_s=st.sampled_from([None, 0.0]))
    def undo(self, data: st.DataObject, return_s: float | None) -> None:
        one = data.draw(st.sampled_from([one.id for one in self.rig.intents.standing]))
        with suppress(ControlPlaneError):
            self._do(self.rig.intents.undo(one, "bob", return_s=return_s))
        self._do(self.rig.follow())

    @rule(elapsed_s=st.sampled_from([1.0, 7.0, 31.0]))
    def wait(self, elapsed_s: float) -> None:
        self.rig.clock.time_s += elapsed_s
        self._do(self.rig.follow())

    @rule()
    def decide(self) -> None:
        for one in (self.rig, self.twin):
            self._do(one.tick(Trigger.TIMER))
        self._do(self.rig.follow())

    @rule()
    def start_again(self) -> None:
        self.rig = self._do(self.rig.restart())
        self._do(self.rig.tick(Trigger.OPERATOR))
        self._do(self.rig.follow())

    @rule(which=st.integers(0, len(FLEETS) - 1))
    def apply(self, which: int) -> None:
        for one in (self.rig, self.twin):
            self._do(one.fleets.apply(FLEETS[which], OPERATOR, force=True))
            self._do(one.tick(Trigger.OPERATOR))
        self._do(self.rig.follow())

    @invariant()
    def somebody_serves(self) -> None:
        forced = any(one.wanted.force for one in self.rig.intents.standing)
        if self.rig.publication.current is None or forced:
            return
        content = self.rig.publication.current.content
        for row in content.weights.weights:
            assert _served(content, row.service) > 0, (row, self._told())

    def _end_all(self) -> None:
        for one in self.rig.intents.standing:
            if one.state is not IntentState.RETURNING:
                with suppress(ControlPlaneError):
                    self._do(self.rig.intents.undo(one.id, "bob"))
        self._do(self.rig.follow())
        self.rig.clock.time_s += 31.0
        self._do(self.rig.follow())
        assert self.rig.intents.standing == (), self._told()
        for one in (self.rig, self.twin):
            self._do(one.tick(Trigger.OPERATOR))
        mine, other = self.rig.publication.current, self.twin.publication.current
        assert mine is not None
        assert other is not None
        assert mine.content == other.content

    def _told(self) -> list[Intent]:
        return list(self.rig.intents.standing)

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(asyncio.wait_for(work, 20.0))


def _served(content: Content, service: str) -> int:
    """Weight of the data centres of a service where somebody takes new requests."""
    (endpoints,) = (one for one in content.endpoints.services if one.service == service)
    open_centers = {
        one.datacenter
        for one in endpoints.centers
        if set(one.addresses) - set(one.draining) and not one.standby
    }
    closed = any(
        route.id == service and route.response is not None for route in content.routes.routes
    )
    return (
        0
        if closed
        else sum(
            weight
            for row in content.weights.weights
            if row.service == service
            for center, weight in row.weights.items()
            if center in open_centers
        )
    )


TestIntentSequences = IntentSequences.TestCase
# The gate asks the same sequences each time: look further with a higher count, not derandomized.
TestIntentSequences.settings = settings(
    max_examples=30,
    stateful_step_count=12,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
