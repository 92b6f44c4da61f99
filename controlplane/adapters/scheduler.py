"""The calendar: pokes at set times, from APScheduler with its job store in memory.

`serving` adds the entries and starts it inside the running loop. An entry only pokes: it is a plain
function that returns at once, runs in the loop's own thread and is called late rather than twice
after the loop was held up. Work belongs to the engine.
"""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, timedelta

import structlog
from apscheduler.events import EVENT_JOB_SUBMITTED, JobSubmissionEvent
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger

log = structlog.get_logger(__name__)

Poke = Callable[[], None]
# Told when it was due, in UTC epoch seconds: later times than that were late, missing ones skipped.
TimedPoke = Callable[[float], None]

# How often the clock is looked at, and a step back that is more than its usual correction.
LOOK_EVERY_S = 1.0
STEP_BACK_S = 2.0


class Calendar:
    """Entries by name; adding a name again replaces its entry, also while running."""

    def __init__(self) -> None:
        self._running = False
        self._scheduler = AsyncIOScheduler(
            timezone=UTC,
            # One late poke stands for all that were missed.
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
        )
        self._due_s: dict[str, float] = {}
        self._offset_s = 0.0
        self._looking: asyncio.TimerHandle | None = None
        # Told before the entry itself runs, which starts as a task.
        self._scheduler.add_listener(self._remember, EVENT_JOB_SUBMITTED)

    def every(self, seconds: float, poke: Poke, name: str) -> None:
        """Poke every `seconds` (> 0), first after one interval."""
        self.timed(seconds, lambda _due_s: poke(), name)

    def timed(self, seconds: float, poke: TimedPoke, name: str) -> None:
        """As `every`, telling each time when it was due."""
        self._add(IntervalTrigger(seconds=seconds, timezone=UTC), poke, name)

    def daily(self, hour: int, poke: Poke, name: str) -> None:
        """Poke once a day at `hour` (0..23, UTC)."""
        self._add(CronTrigger(hour=hour, timezone=UTC), lambda _due_s: poke(), name)

    def names(self) -> list[str]:
        """Names of the entries, sorted."""
        return sorted(job.id for job in self._scheduler.get_jobs())

    def start(self) -> None:
        """Begin; needs a running event loop."""
        self._scheduler.start()
        self._running = True
        self._offset_s = _offset_s()
        self._look_later()

    def stop(self) -> None:
        """End; nothing is poked afterwards. Stopping twice does no harm."""
        if self._running:
            self._running = False
            if self._looking is not None:
                self._looking.cancel()
            self._scheduler.shutdown(wait=False)

    def _look_later(self) -> None:
        self._looking = asyncio.get_running_loop().call_later(LOOK_EVERY_S, self._look)

    def _look(self) -> None:
        """Move the entries along with a clock that was set back.

        APScheduler keeps times of day: without this, nothing happens until the clock is again
        where it was.
        """
        offset_s = _offset_s()
        step_s, self._offset_s = offset_s - self._offset_s, offset_s
        if step_s < -STEP_BACK_S:
            log.warning("calendar.clock_set_back", seconds=round(-step_s, 3))
            for job in self._scheduler.get_jobs():
                job.modify(next_run_time=job.next_run_time + timedelta(seconds=step_s))
        self._look_later()

    def _remember(self, event: JobSubmissionEvent) -> None:
        self._due_s[event.job_id] = event.scheduled_run_times[-1].timestamp()

    def _add(self, trigger: BaseTrigger, poke: TimedPoke, name: str) -> None:
        # APScheduler runs a plain function in a thread and a coroutine in the loop.
        async def poke_in_loop() -> None:
            # The scheduler itself stops one turn of the loop later than `stop`.
            if self._running:
                poke(self._due_s[name])

        self._scheduler.add_job(poke_in_loop, trigger, id=name, name=name, replace_existing=True)


def _offset_s() -> float:
    """The clock against the loop's, which nobody sets."""
    return time.time() - asyncio.get_running_loop().time()
