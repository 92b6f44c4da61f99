"""A site that slows down the more it has to do at once, behind a pool of sessions, in its own time.

The processor is shared: with n requests at once each takes `service_s / speed * (1 + (n / knee) **
slowing)`. Users think between two requests. There are always more sessions than there is room for,
unless told otherwise.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

from controlplane.domain.admission.session_queue.control import (
    Control,
    Period,
    at_start,
    controlled,
    whole,
)
from controlplane.domain.admission.session_queue.policy import SessionQueuePolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One period: mean response time over the target, 0 without answers, and the pool."""

    time_s: float
    relative: float
    inside: int
    size: float


@dataclass(slots=True, kw_only=True)
class Site:
    """The site, its users and the controlled pool."""

    policy: SessionQueuePolicy
    service_s: float = 0.1
    knee: float = 20.0
    slowing: float = 1.5
    requests: int = 5
    think_s: float = 0.0
    speed: float = 1.0
    queue: int = 1_000_000
    time_s: float = 0.0
    control: Control = field(init=False)
    seen: list[Seen] = field(default_factory=list)
    _work: float = 0.0
    _running: list[tuple[float, int, int, float]] = field(default_factory=list)
    _thinking: list[tuple[float, int, int]] = field(default_factory=list)
    _number: int = 0
    _inside: int = 0
    _entered: int = 0
    _answers: int = 0
    _total_s: float = 0.0
    _due_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.control = at_start(self.policy)
        self._due_s = self.policy.period_s
        self._fill()

    def run(self, until_s: float, when: Callable[[float], None] | None = None) -> None:
        """Play until a time."""
        while self.time_s < until_s:
            done_s = self._next_done()
            thought_s = self._thinking[0][0] if self._thinking else float("inf")
            at_s = min(done_s, thought_s, self._due_s)
            self._work += (at_s - self.time_s) * self._rate()
            self.time_s = at_s
            if at_s == self._due_s:
                self._decide()
            elif at_s == done_s:
                self._answered()
            else:
                _, _, left = heapq.heappop(self._thinking)
                self._ask(left)

    def _rate(self) -> float:
        n = len(self._running)
        return self.speed / (self.service_s * (1 + (n / self.knee) ** self.slowing))

    def _next_done(self) -> float:
        if not self._running:
            return float("inf")
        return self.time_s + max(0.0, self._running[0][0] - self._work) / self._rate()

    def _ask(self, left: int) -> None:
        self._number += 1
        heapq.heappush(self._running, (self._work + 1.0, self._number, left, self.time_s))

    def _answered(self) -> None:
        _, number, left, asked_s = heapq.heappop(self._running)
        self._answers += 1
        self._total_s += self.time_s - asked_s
        if left > 1 and self.think_s:
            # Nobody thinks as long as the next one: 0.5 to 1.5 of the mean, in turn.
            thinks_s = self.think_s * (0.5 + (number * 0.618) % 1)
            heapq.heappush(self._thinking, (self.time_s + thinks_s, number, left - 1))
        elif left > 1:
            self._ask(left - 1)
        else:
            self._inside -= 1
            self._fill()

    def _fill(self) -> None:
        while self.queue and self._inside < whole(self.control):
            self.queue -= 1
            self._inside += 1
            self._entered += 1
            self._ask(self.requests)

    def _decide(self) -> None:
        self._due_s += self.policy.period_s
        period = Period(
            length_s=self.policy.period_s,
            answers=self._answers,
            failures=0,
            total_s=self._total_s,
            entered=self._entered,
            inside=self._inside,
            waiting=self.queue,
        )
        self.control = controlled(self.policy, self.control, period)
        mean_ms = self._total_s / self._answers * 1_000 if self._answers else 0.0
        self.seen.append(
            Seen(
                time_s=self.time_s,
                relative=mean_ms / self.policy.target_ms,
                inside=self._inside,
                size=self.control.size,
            )
        )
        self._answers, self._total_s, self._entered = 0, 0.0, 0
        self._fill()
