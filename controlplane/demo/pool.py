"""One lane's workers in one demo data centre: a first-in-first-out queue in front of W workers, on
timers.

Called by the data centre process. Burns no CPU: a busy worker is a timer. Never blocks the event
loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

SLICE_S = 0.25
"""Length of the slices over which the highest busy share is looked for: a few service times."""
KEPT_SLICES = 240


@dataclass(slots=True, kw_only=True, eq=False)
class Job:
    """Work for one worker; `on_done` is called when it is finished, unless `cancelled` was set
    while it waited.
    """

    duration_s: float
    on_done: Callable[[], None] | None = None
    cancelled: bool = False


@dataclass(slots=True, kw_only=True)
class Counters:
    """What a lane has done since its start; everything only grows, except `inflight`."""

    requests: int = 0
    errors: int = 0
    inflight: int = 0
    ingress_bytes: int = 0
    response_time_s: float = 0.0


class WorkerPool:
    """W workers with one queue; measures its own busy share as a server would measure its CPU."""

    def __init__(self, workers: int, queue_limit: int, loop: asyncio.AbstractEventLoop) -> None:
        self.workers = workers
        self.counters = Counters()
        self.slices: deque[float] = deque(maxlen=KEPT_SLICES)
        self.slice_count = 0
        self._loop = loop
        self._queue_limit = queue_limit
        self._queue: deque[Job] = deque()
        self._busy = 0
        self._busy_worker_s = 0.0
        self._accounted_at = loop.time()
        self._slice_start_worker_s = 0.0

    def submit(self, job: Job) -> bool:
        """Start the job or put it in the queue; false when the queue is full and the job was not
        taken.
        """
        if self._busy < self.workers:
            self._account()
            self._busy += 1
            self._run(job, self._loop.time())
            return True
        if len(self._queue) >= self._queue_limit:
            return False
        self._queue.append(job)
        return True

    def busy_worker_s(self) -> float:
        """Worker-seconds spent busy since the start, batch jobs included."""
        self._account()
        return self._busy_worker_s

    def close_slice(self) -> None:
        """End one slice of `SLICE_S` and keep its busy share, 0..1."""
        total = self.busy_worker_s()
        share = (total - self._slice_start_worker_s) / (SLICE_S * self.workers)
        self.slices.append(min(1.0, share))
        self.slice_count += 1
        self._slice_start_worker_s = total

    def _run(self, job: Job, start_s: float) -> None:
        end_s = start_s + job.duration_s
        self._loop.call_at(end_s, self._finish, job, end_s)

    def _finish(self, job: Job, end_s: float) -> None:
        if job.on_done is not None and not job.cancelled:
            job.on_done()
        while self._queue:
            waiting = self._queue.popleft()
            if not waiting.cancelled:
                # From the planned end, not from now: late timers must not add up to service time.
                self._run(waiting, end_s)
                return
        self._account()
        self._busy -= 1

    def _account(self) -> None:
        now = self._loop.time()
        self._busy_worker_s += self._busy * (now - self._accounted_at)
        self._accounted_at = now
