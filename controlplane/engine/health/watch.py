"""Health: takes facts about endpoints in, judges them, and hands the picture to whoever acts on it.

Facts are the control plane's own probes, reports of other observers, what gateways and applications
tell of their requests, and what operators ordered. The judgments are pure (`domain.health`); here
time passes and the picture is kept. Moves no traffic itself: failover waits for `changed_since`.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain

import structlog

from controlplane.domain.errors import Retryable
from controlplane.domain.findings import Source
from controlplane.domain.health.budget import ProbeBudget
from controlplane.domain.health.judging import (
    NO_ORDERS,
    ClusterKey,
    Evidence,
    Orders,
    judge_centers,
    judge_service,
)
from controlplane.domain.health.passive import PassiveLimits
from controlplane.domain.health.picture import EndpointKey, Health, ObserverHealth, ObserverState
from controlplane.domain.health.quorum import Opinion, QuorumRules, Report, observers
from controlplane.domain.health.states import EndpointState
from controlplane.domain.health.words import observations, stretched
from controlplane.engine.fleet.fleets import Fleets
from controlplane.engine.health.observers import Observers
from controlplane.engine.health.passive_signals import PassiveSignals
from controlplane.engine.health.probing import Prober
from controlplane.engine.stages import Instruments
from controlplane.ports.health import HealthStore

log = structlog.get_logger(__name__)

# How often silence, passive signals, orders and a changed fleet are looked for.
LOOK_S = 0.25
# A burst of opinions becomes one picture: a data centre falls within some milliseconds.
QUIET_S = 0.005
KEEP_EVERY_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthRules:
    """From where on what counts; times are in seconds and never scaled."""

    quorum: QuorumRules = field(default_factory=QuorumRules)
    passive: PassiveLimits = field(default_factory=PassiveLimits)
    budget: ProbeBudget = field(default_factory=ProbeBudget)


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthParts:
    """What health reads from and writes to.

    Attributes:
        prober: makes the own observer from what to call when an opinion changes; None has none.
    """

    fleets: Fleets
    store: HealthStore
    prober: Callable[[Callable[[EndpointKey], None]], Prober] | None


class HealthWatch:
    """Owns the picture of health.

    `changes` counts endpoints that changed their state since the start. `orders` is asked for what
    operators and failover have done; whoever keeps intents puts their own in its place. `out` has
    the endpoints that should get nothing, by service; `told` is called when others are.
    """

    def __init__(self, parts: HealthParts, rules: HealthRules, instruments: Instruments) -> None:
        self._fleets = parts.fleets
        self._store = parts.store
        self._now = instruments.now
        self._findings = instruments.findings
        prober = None if parts.prober is None else parts.prober(self._touch)
        self.observers = Observers(prober, rules.quorum, rules.budget)
        self.passive = PassiveSignals(rules.passive)
        self.orders: Callable[[], Orders] = lambda: NO_ORDERS
        self._rules = rules
        self._picture = Health()
        self._generation = -1
        self._shared_by = ""
        self._orders = NO_ORDERS
        self._touched: set[str] = set()
        self._poked = asyncio.Event()
        self._changed = asyncio.Event()
        self._kept = 0
        self.changes = 0
        self.out: Mapping[str, frozenset[EndpointKey]] = {}
        self.told: Callable[[], None] | None = None

    @property
    def picture(self) -> Health:
        """Everything that is known, as it was judged last."""
        return self._picture

    @property
    def generation(self) -> int:
        """Of the fleet that is watched; -1 before the first."""
        return self._generation

    async def changed_since(self, number: int, timeout_s: float) -> Health | None:
        """The picture with a greater number, as soon as there is one; None when not in time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self._picture.number <= number:
                    await self._changed.wait()
                return self._picture
        return None

    def poke(self) -> None:
        """Judge soon: an order changed."""
        self._poked.set()

    def observe(
        self, observer: str, opinions: Mapping[EndpointKey, Opinion], token: str = ""
    ) -> None:
        """Take everything that another observer says; what it no longer says is over."""
        report = Report(observer=observer, heard_s=self._now(), opinions=opinions, token=token)
        self._touched |= self.observers.observe(report)
        self._poked.set()

    def leave(self, observer: str) -> None:
        """An observer that is stopped in order counts no more."""
        if self.observers.leave(observer):
            self._touch_all()
            self._poked.set()

    def tell(self, reporter: str, place: ClusterKey, served: int, failed: int) -> None:
        """Take what a gateway or an application counted since it told last."""
        if self.passive.tell(reporter, place, (served, failed), self._now()):
            self._touched.add(place[0])
            self._poked.set()

    async def restore(self) -> None:
        """Take up what was known before: states hold until observers say otherwise."""
        kept = await self._store.load()
        if kept is not None:
            self._picture = kept
            self.out = kept.out()
            self._kept = kept.number
            self.observers.restore(kept)
            self.passive.restore(kept, self._now())
            log.info("health.restored", number=kept.number, endpoints=len(kept.endpoints()))

    async def run(self) -> None:
        """Judge whenever something changed, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            if self.observers.prober is not None:
                tasks.create_task(self.observers.prober.run())
            tasks.create_task(self._keep())
            while True:
                self.look()
                with suppress(TimeoutError):
                    # Python 3.11's `wait_for` loses a stop that comes with the news.
                    async with asyncio.timeout(LOOK_S):
                        await self._poked.wait()
                    await asyncio.sleep(QUIET_S)
                self._poked.clear()

    def look(self) -> None:
        """Take up what changed, and judge."""
        now_s = self._now()
        self._watch_fleet()
        self._touched |= self.passive.look(self._picture, now_s)
        orders = self.orders()
        if orders != self._orders:
            self._orders = orders
            self._touch_all()
        self._take(self._judged(now_s))
        self._findings.report(
            Source.HEALTH,
            chain(
                observations(self._picture, now_s),
                self.passive.observations(),
                stretched(self.observers.plan),
            ),
        )

    def _watch_fleet(self) -> None:
        current = self._fleets.current
        self.observers.share()
        shared_by = self.observers.shared_by
        if (current.generation, shared_by) != (self._generation, self._shared_by):
            self._generation = current.generation
            self.observers.watch(current.fleet)
            self._shared_by = self.observers.shared_by
            self._touch_all()

    def _judged(self, now_s: float) -> Health:
        before = self._picture
        reports = self.observers.reports(now_s)
        watching = observers(reports, now_s, self._rules.quorum, before.observers)
        if _standing(watching) != _standing(before.observers):
            self._touch_all()
        touched, self._touched = self._touched, set()
        evidence = Evidence(
            now_s=now_s,
            reports=reports,
            observers=watching,
            failing=self.passive.failing,
            orders=self._orders,
        )
        fleet = self._fleets.current.fleet
        services = {
            one.name: before.services[one.name]
            if one.name in before.services and one.name not in touched
            else judge_service(one, evidence, before.services.get(one.name))
            for one in fleet.services
        }
        names = [center.name for center in fleet.datacenters]
        return replace(
            before,
            services=services,
            centers=judge_centers(names, services, before, evidence),
            observers=watching,
            held=evidence.held,
        )

    def _take(self, found: Health) -> None:
        before = self._picture
        self._picture = found
        if _told(found) == _told(before):
            return
        self._log(before, found)
        self._note(found)
        self._picture = replace(found, number=before.number + 1)
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _note(self, found: Health) -> None:
        out = found.out()
        if out != self.out:
            self.out = out
            if self.told is not None:
                self.told()

    def _log(self, before: Health, found: Health) -> None:
        earlier = before.endpoints()
        for key, one in found.endpoints().items():
            state = earlier[key].state if key in earlier else EndpointState.UNKNOWN
            if one.state is not state:
                self.changes += 1
                place = {"service": key.service, "datacenter": key.datacenter}
                log.info(
                    "health.endpoint", **place, endpoint=key.name, state=one.state, why=one.why
                )
        for name, center in found.centers.items():
            old = before.centers.get(name)
            if old is not None and (old.state, old.down) != (center.state, center.down):
                log.warning(
                    "health.datacenter", datacenter=name, state=center.state, down=center.down
                )

    async def _keep(self) -> None:
        """Store the newest picture, at most once in a second."""
        while True:
            picture = await self.changed_since(self._kept, timeout_s=60.0)
            if picture is not None:
                with suppress(Retryable):
                    await self._store.keep(picture)
                    self._kept = picture.number
            await asyncio.sleep(KEEP_EVERY_S)

    def _touch(self, key: EndpointKey) -> None:
        self._touched.add(key.service)
        self._poked.set()

    def _touch_all(self) -> None:
        self._touched.update(self._picture.services)
        self._touched.update(one.name for one in self._fleets.current.fleet.services)


def _standing(found: Sequence[ObserverHealth]) -> list[tuple[str, ObserverState, str]]:
    return [(one.name, one.state, one.token) for one in found]


def _told(health: Health) -> object:
    """What makes a picture another one; when an observer was heard does not."""
    return health.services, health.centers, health.held, _standing(health.observers)
