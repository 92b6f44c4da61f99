"""The probes of one observer: who is asked when, and what follows from the answers.

Run by `watch` for the control plane's own observer, and by `signalbox observe`. One task
for each endpoint, spread over its interval. A failure against the verdict is followed up sooner,
and the neighbours are asked at once: so a dead data centre is known a little after its first
failure and not at the end of each one's interval. All of it stays within the budget.
"""

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice

from controlplane.domain.health.budget import ProbeBudget
from controlplane.domain.health.checks import NEW, Checked, Result, after, doubtful
from controlplane.domain.health.picture import EndpointKey
from controlplane.domain.health.quorum import Opinion
from controlplane.domain.services import CheckKind, HealthCheck
from controlplane.ports.health import Checker

# Neighbours that are asked when one of them fails.
MOST_NEIGHBOURS = 50
# A failure that comes so much later than its deadline says that this process was held up.
LATE_S = 0.1


@dataclass(slots=True)
class _Target:
    check: HealthCheck
    checked: Checked
    asked_s: float = -1e9
    wake: asyncio.Event = field(default_factory=asyncio.Event)


class Prober:
    """Probes endpoints and keeps what they look like.

    `asked` counts probes since the start, `failed` those that failed, `late` answers that were
    thrown away because this process was held up.

    Args:
        checkers: by kind of check.
        changed: called with an endpoint whose opinion changed.
        now: epoch seconds.
    """

    def __init__(
        self,
        checkers: Mapping[CheckKind, Checker],
        budget: ProbeBudget,
        changed: Callable[[EndpointKey], None],
        now: Callable[[], float],
    ) -> None:
        self._checkers = checkers
        self._budget = budget
        self._changed = changed
        self._now = now
        self._targets: dict[EndpointKey, _Target] = {}
        self._running: dict[EndpointKey, tuple[_Target, asyncio.Task[None]]] = {}
        self._set = asyncio.Event()
        self._stretch = 1.0
        self._extra = _Allowance(budget.per_prober)
        self.asked = 0
        self.failed = 0
        self.late = 0

    def watch(
        self,
        checks: Mapping[EndpointKey, HealthCheck],
        stretch: float = 1.0,
        seeds: Mapping[EndpointKey, Checked] | None = None,
    ) -> None:
        """Probe these from now on; who stays keeps what is known of it.

        Args:
            stretch: intervals times this, >= 1.
            seeds: what is known of endpoints that are new here.
        """
        known = seeds or {}
        for key in self._targets.keys() - checks.keys():
            del self._targets[key]
        for key, check in checks.items():
            target = self._targets.get(key)
            if target is None:
                self._targets[key] = _Target(check=check, checked=known.get(key, NEW))
            else:
                target.check = check
        self._stretch = max(1.0, stretch)
        self._set.set()

    def opinions(self) -> dict[EndpointKey, Opinion]:
        """What every endpoint looks like."""
        return {
            key: Opinion(
                verdict=one.checked.verdict,
                words=one.checked.words,
                flapping=one.checked.flapping,
            )
            for key, one in self._targets.items()
        }

    async def run(self) -> None:
        """Probe until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                while True:
                    self._reconcile(tasks)
                    await self._set.wait()
                    self._set.clear()
        finally:
            self._running.clear()

    def _reconcile(self, tasks: asyncio.TaskGroup) -> None:
        for key, (target, task) in list(self._running.items()):
            if self._targets.get(key) is not target:
                task.cancel()
                del self._running[key]
        for key in self._targets.keys() - self._running.keys():
            target = self._targets[key]
            self._running[key] = target, tasks.create_task(self._keep_asking(key, target))

    async def _keep_asking(self, key: EndpointKey, target: _Target) -> None:
        loop = asyncio.get_running_loop()
        # Its place in the interval: all at once would be a burst, and would see a fall late.
        await self._pause(target, loop.time() + self._interval_s(target) * _place(key))
        while True:
            target.asked_s = started_s = loop.time()
            # A neighbour's failure from now on may be newer than this answer.
            target.wake.clear()
            await self._ask(key, target)
            await self._pause(target, started_s + self._interval_s(target))

    async def _pause(self, target: _Target, until_s: float) -> None:
        """Wait for its time, or for a neighbour's failure."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(until_s):
                await target.wake.wait()
        except TimeoutError:
            return
        # Never sooner than an endpoint may be asked.
        await asyncio.sleep(max(0.0, target.asked_s + self._least_s - loop.time()))

    @property
    def _least_s(self) -> float:
        # Half of what an endpoint bears, for there are other observers.
        return 2.0 / self._budget.per_endpoint

    def _interval_s(self, target: _Target) -> float:
        interval_s = target.check.interval_ms / 1_000 * self._stretch
        if doubtful(target.checked) and self._extra.take(asyncio.get_running_loop().time()):
            return min(interval_s, max(interval_s / 2, self._least_s))
        return interval_s

    async def _ask(self, key: EndpointKey, target: _Target) -> None:
        loop = asyncio.get_running_loop()
        started_s = loop.time()
        check = target.check
        words = await self._checkers[check.kind].check(key, check)
        self.asked += 1
        if words and loop.time() - started_s > check.timeout_ms / 1_000 + LATE_S:
            self.late += 1
            return
        self.failed += bool(words)
        before = target.checked
        result = Result(passed=not words, at_s=self._now(), words=words)
        target.checked = after(before, result, check)
        if doubtful(target.checked):
            self._wake_neighbours(key)
        if _shown(before) != _shown(target.checked):
            self._changed(key)

    def _wake_neighbours(self, key: EndpointKey) -> None:
        place = (key.service, key.datacenter)
        near = (
            target
            for other, target in self._targets.items()
            if (other.service, other.datacenter) == place and other != key
        )
        now_s = asyncio.get_running_loop().time()
        for target in islice(near, MOST_NEIGHBOURS):
            if not target.checked.failed and self._extra.take(now_s):
                target.wake.set()


class _Allowance:
    """Probes beyond the regular ones, so many in a second."""

    def __init__(self, per_s: float) -> None:
        self._per_s = per_s
        self._left = per_s
        self._at_s = 0.0

    def take(self, now_s: float) -> bool:
        """Whether there is one left."""
        self._left = min(self._per_s, self._left + (now_s - self._at_s) * self._per_s)
        self._at_s = now_s
        if self._left < 1:
            return False
        self._left -= 1
        return True


def _shown(checked: Checked) -> tuple[object, ...]:
    return checked.verdict, checked.flapping


def _place(key: EndpointKey) -> float:
    """Where in its interval an endpoint is asked, 0..1."""
    digest = hashlib.sha256(f"{key.service} {key.name}".encode()).digest()
    return int.from_bytes(digest[:4]) / 2**32
