"""Training jobs: a queue that is worked off one by one, with progress, deadline and cancelling.

The API and `retraining` submit, the supervisor keeps `run`. A job lives in the store from
its first to its last state; its progress lives in memory only. One that ran when the process
died is marked failed at the next start and queued again once. The work itself is
`workshop`'s.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import structlog

from controlplane.domain.access import AuditEntry, Principal
from controlplane.domain.errors import Conflict, ControlPlaneError, Retryable
from controlplane.domain.findings import Observation, Source
from controlplane.domain.jobs import Job, JobEvent, JobState, JobTrigger, advanced, again
from controlplane.engine.learning.workshop import Workshop, until_stored
from controlplane.engine.stages import Instruments
from controlplane.ports.stores import AuditLog, JobStore

log = structlog.get_logger(__name__)

# Ten thousand services that ask at once would otherwise wait for weeks.
MOST_OPEN = 64
RESTORED = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class JobParts:
    """What jobs read from and write to."""

    store: JobStore
    audit: AuditLog
    workshop: Workshop


@dataclass(frozen=True, slots=True, kw_only=True)
class Trainings:
    """When a service's newest training ended, and its newest model was made; None is never."""

    tried_s: float | None = None
    trained_s: float | None = None


class Jobs:
    """The queue. `ended` counts final states and `seconds` their running time, for /metrics."""

    def __init__(self, parts: JobParts, instruments: Instruments) -> None:
        self._parts = parts
        self._now = instruments.now
        self._findings = instruments.findings
        self._open: dict[str, Job] = {}
        self._trainings: dict[str, Trainings] = {}
        self._waiting = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._unwanted: dict[str, str] = {}
        self._failed: set[str] = set()
        self.ended: Counter[JobState] = Counter()
        self.seconds = 0.0

    @property
    def open(self) -> Mapping[str, Job]:
        """Jobs that are queued or running, oldest first, with their progress."""
        return self._open

    @property
    def trainings(self) -> Mapping[str, Trainings]:
        """Service -> when it was trained."""
        return self._trainings

    async def restore(self) -> None:
        """Take up the queue of the last process; what ran then failed, and is queued once more."""
        ended: dict[str, Job] = {}
        for job in reversed(await self._parts.store.recent(None, RESTORED)):
            self._remember(job)
            if job.final and job.state is not JobState.CANCELLED:
                ended[job.service] = job
        for job in ended.values():
            self._tell(job)
        unfinished = await self._parts.store.unfinished()
        for job in unfinished:
            if job.state is JobState.QUEUED:
                self._enqueue(job)
        # Behind the others: it may be what the process died of.
        for job in unfinished:
            if job.state is JobState.RUNNING:
                await self._died(job)

    def look(self) -> None:
        """Forget the failures of services that are no longer declared."""
        for gone in [name for name in self._failed if not self._parts.workshop.knows(name)]:
            self._failed.discard(gone)
            self._findings.report(Source.JOBS, (), scope=gone)

    async def by_id(self, job_id: str) -> Job:
        """One job as it is now; NotFound."""
        return self._open.get(job_id) or await self._parts.store.by_id(job_id)

    async def recent(
        self, service: str | None, limit: int, after: tuple[float, str] | None = None
    ) -> list[Job]:
        """Newest first, as they are now; behind a (creation, id) if given."""
        stored = await self._parts.store.recent(service, limit, after)
        return [self._open.get(job.id, job) for job in stored]

    async def submit(
        self, service: str, trigger: JobTrigger, author: Principal, reason: str = ""
    ) -> Job:
        """Queue the training of a service's model.

        Raises:
            NotFound: the service is not declared. Invalid: it is in one data centre only.
            Conflict: a job of this service is open. Retryable: too many are.
        """
        self._parts.workshop.check(service)
        self._check_room(service)
        now_s = self._now()
        stamp = round(now_s * 1000)
        job = Job(
            id=f"{service}-{stamp}",
            service=service,
            trigger=trigger,
            author=author.name,
            created_s=now_s,
            reason=reason,
            seed=stamp % 2**31,
        )
        # Before the store answers, so that a second caller sees it.
        self._open[job.id] = job
        try:
            await self._parts.store.put(job, self._audit("job.submit", job, author.name, reason))
        except BaseException:
            del self._open[job.id]
            raise
        self._enqueue(job)
        log.info("job.queued", job=job.id, service=service, trigger=trigger)
        return job

    async def cancel(self, job_id: str, author: Principal, reason: str = "") -> Job:
        """End a job that is queued or running.

        Raises:
            NotFound: there is no such job. Conflict: it has ended already.
        """
        job = await self.by_id(job_id)
        words = f"cancelled by {author.name}{f': {reason}' if reason else ''}"
        ended = advanced(job, JobEvent.CANCEL, self._now(), words)
        audit = self._audit("job.cancel", job, author.name, reason)
        if job.state is JobState.RUNNING:
            await self._stop(job, audit, words)
        else:
            await self._withdraw(job, ended, audit)
        return ended

    async def run(self) -> None:
        """Work the queue off, oldest first, until cancelled."""
        while True:
            await self._waiting.wait()
            job = next((j for j in self._open.values() if j.state is JobState.QUEUED), None)
            if job is None:
                self._waiting.clear()
                continue
            async with asyncio.TaskGroup() as group:
                self._task = group.create_task(self._work(job))
            self._task = None

    async def _stop(self, job: Job, audit: AuditEntry, words: str) -> None:
        await self._parts.audit.append(audit)
        # It may have ended while the store answered; then this raises.
        self._advanced(job.id, JobEvent.CANCEL, words)
        self._unwanted[job.id] = words
        if self._task is not None:
            self._task.cancel()

    async def _withdraw(self, job: Job, ended: Job, audit: AuditEntry) -> None:
        # Before the store answers, so that it is not started meanwhile.
        self._open[job.id] = ended
        try:
            await self._parts.store.put(ended, audit)
        except BaseException:
            self._enqueue(job)
            raise
        self._close(ended)

    async def _work(self, job: Job) -> None:
        running = advanced(job, JobEvent.START, self._now(), "collecting rows")
        self._open[job.id] = running

        def told(progress: float, message: str, rows: int) -> None:
            self._open[job.id] = replace(
                self._open[job.id], progress=progress, message=message, rows=rows
            )

        try:
            await until_stored(lambda: self._parts.store.put(running))
            result = await self._parts.workshop.make(running, told)
        except asyncio.CancelledError:
            if job.id not in self._unwanted:
                # The process ends: the next one will find it running.
                raise
            ended = self._advanced(job.id, JobEvent.CANCEL, self._unwanted.pop(job.id))
        except ControlPlaneError as error:
            ended = replace(self._advanced(job.id, JobEvent.FAIL, error.message), error=error.code)
        except Exception as error:
            # This is a supervised task: a bug costs the job, never the queue.
            log.exception("job.crashed", job=job.id)
            message = f"{type(error).__name__}: see the log"
            ended = replace(self._advanced(job.id, JobEvent.FAIL, message), error="job_crashed")
        else:
            ended = replace(self._advanced(job.id, JobEvent.SUCCEED, "trained"), result=result)
        await self._end(ended)

    async def _end(self, job: Job) -> None:
        # Final from now on: who cancels it while the store answers is told so.
        self._open[job.id] = job
        await until_stored(lambda: self._parts.store.put(job))
        self.seconds += (job.ended_s or 0.0) - (job.started_s or 0.0)
        self._close(job)

    def _close(self, job: Job) -> None:
        """The job is final, also in the store: forget, count, tell."""
        self._open.pop(job.id, None)
        self._remember(job)
        self.ended[job.state] += 1
        log.info(
            "job.ended", job=job.id, state=job.state, message=job.message, result=job.result[:12]
        )
        self._tell(job)

    def _tell(self, job: Job) -> None:
        """A failure is a finding while the service is there, until its next training."""
        if job.state is not JobState.CANCELLED:
            failed = job.state is JobState.FAILED and self._parts.workshop.knows(job.service)
            self._failed.discard(job.service)
            self._failed.update([job.service] if failed else [])
            found = (_failure(job),) if failed else ()
            self._findings.report(Source.JOBS, found, scope=job.service)

    def _enqueue(self, job: Job) -> None:
        self._open[job.id] = job
        self._waiting.set()

    def _advanced(self, job_id: str, event: JobEvent, message: str) -> Job:
        job = self._open.get(job_id)
        if job is None:
            raise Conflict("job_state", f"job {job_id} has just ended")
        return advanced(job, event, self._now(), message)

    def _remember(self, job: Job) -> None:
        if job.ended_s is None:
            return
        known = self._trainings.get(job.service, Trainings())
        trained = job.ended_s if job.state is JobState.SUCCEEDED else known.trained_s
        self._trainings[job.service] = Trainings(tried_s=job.ended_s, trained_s=trained)

    async def _died(self, job: Job) -> None:
        ended = advanced(job, JobEvent.FAIL, self._now(), "the process ended while it ran")
        ended = replace(ended, error="job_interrupted")
        await self._parts.store.put(ended)
        self._remember(ended)
        self.ended[JobState.FAILED] += 1
        if (second := again(job, self._now())) is not None:
            await self._parts.store.put(second)
            self._enqueue(second)
        self._tell(ended)
        log.warning("job.interrupted", job=job.id, again=second is not None)

    def _check_room(self, service: str) -> None:
        for job in self._open.values():
            if job.service == service:
                raise Conflict(
                    "job_open",
                    f"job {job.id} of service {service} is {job.state}: wait for it or cancel it",
                    {"job": job.id},
                )
        if len(self._open) >= MOST_OPEN:
            raise Retryable(
                "jobs_full",
                f"{len(self._open)} jobs are open, at most {MOST_OPEN} may be: wait",
                after_s=60.0,
            )

    def _audit(self, action: str, job: Job, author: str, reason: str) -> AuditEntry:
        return AuditEntry(
            time_s=self._now(), author=author, action=action, subject=job.subject, reason=reason
        )


def _failure(job: Job) -> Observation:
    return Observation(
        code="training_failed",
        subject=f"service/{job.service}",
        message=f"training failed ({job.error}): {job.message}",
        held="the model in service stays",
        force=f"signalbox models train {job.service}, when the cause is gone",
    )
