"""The session queue's experiment in its own time: the same laws of site and pool, no processes.
What a real run differs from it is what the machine adds.

Used by `session_queue` beside what it measures, and by tests, which must not depend on how busy a
machine is.
"""

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import fmean

from controlplane.domain.admission.session_queue.control import (
    Control,
    Period,
    at_start,
    controlled,
    whole,
)
from controlplane.domain.admission.session_queue.policy import SessionQueuePolicy

STEPS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The site's law; see `session_queue_site`."""

    service_s: float
    knee: float
    slowing: float
    room: float

    def rate(self, requests: int, sessions: int) -> float:
        """Part of a request that is worked off in a second, of each request."""
        slower = 1.0 + (requests / self.knee) ** self.slowing
        return float(1.0 / (self.service_s * slower * (1.0 + sessions / self.room)))


@dataclass(slots=True, kw_only=True)
class _User:
    began_s: float
    left: int = STEPS
    asked_s: float = 0.0


@dataclass(slots=True, kw_only=True)
class Model:
    """One crowd.

    Attributes:
        whole_sessions: whether a place in the pool is kept from request to request.
    """

    site: Site
    policy: SessionQueuePolicy
    whole_sessions: bool
    sessions: int
    time_s: float = 0.0
    stays_s: list[float] = field(default_factory=list)
    _control: Control = field(init=False)
    _line: deque[_User] = field(default_factory=deque)
    _running: list[tuple[float, int, _User]] = field(default_factory=list)
    _work: float = 0.0
    _number: int = 0
    _inside: int = 0
    _open: int = 0
    _entered: int = 0
    _answers: int = 0
    _total_s: float = 0.0

    def play(self, users: int) -> tuple[float, float]:
        """Total time and mean stay of a crowd, `users` at once."""
        self._control = at_start(self.policy)
        for _ in range(min(users, self.sessions)):
            self._arrive()
        due_s = self.policy.period_s
        while self._running:
            rate = self.site.rate(len(self._running), self._open)
            done_s = self.time_s + (self._running[0][0] - self._work) / rate
            at_s = min(done_s, due_s)
            self._work += (at_s - self.time_s) * rate
            self.time_s = at_s
            if at_s == due_s:
                self._decide()
                due_s += self.policy.period_s
            else:
                self._answered()
        return self.time_s, fmean(self.stays_s)

    def _arrive(self) -> None:
        if self.sessions:
            self.sessions -= 1
            self._line.append(_User(began_s=self.time_s))
            self._fill()

    def _fill(self) -> None:
        while self._line and self._inside < whole(self._control):
            self._inside += 1
            self._entered += 1
            user = self._line.popleft()
            self._open += user.left == STEPS
            self._ask(user)

    def _ask(self, user: _User) -> None:
        self._number += 1
        user.asked_s = self.time_s
        heapq.heappush(self._running, (self._work + 1.0, self._number, user))

    def _answered(self) -> None:
        _, _, user = heapq.heappop(self._running)
        self._answers += 1
        self._total_s += self.time_s - user.asked_s
        user.left -= 1
        if user.left and self.whole_sessions:
            self._ask(user)
            return
        self._inside -= 1
        if user.left:
            self._line.append(user)
        else:
            self._open -= 1
            self.stays_s.append(self.time_s - user.began_s)
            self._arrive()
        self._fill()

    def _decide(self) -> None:
        period = Period(
            length_s=self.policy.period_s,
            answers=self._answers,
            failures=0,
            total_s=self._total_s,
            entered=self._entered,
            inside=self._inside,
            waiting=len(self._line),
        )
        self._control = controlled(self.policy, self._control, period)
        self._answers, self._total_s, self._entered = 0, 0.0, 0
        self._fill()


def crowd_of(
    site: Site, policy: SessionQueuePolicy, sessions: int
) -> Callable[[str, int], tuple[float, float]]:
    """(kind, users) -> total time and mean stay of a crowd."""

    def play(kind: str, users: int) -> tuple[float, float]:
        model = Model(site=site, policy=policy, whole_sessions=kind == "session", sessions=sessions)
        return model.play(users)

    return play
