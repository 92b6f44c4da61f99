"""Jobs: work that takes longer than a request, as records with a state table.

So far one kind, training a model. `engine.learning.jobs` moves them along, the store keeps them,
API and command line show them. Must never run anything.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from controlplane.domain.state_table import state_after


class JobKind(StrEnum):
    """What a job does."""

    TRAIN = "train"


class JobState(StrEnum):
    """How far it is; the last three are final."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class JobEvent(StrEnum):
    """What happens to a job."""

    START = "start"
    SUCCEED = "succeed"
    FAIL = "fail"
    CANCEL = "cancel"


class JobTrigger(StrEnum):
    """Who asked for it: the calendar, the live error, or a person."""

    WEEKLY = "weekly"
    EARLY = "early"
    MANUAL = "manual"


NEXT: dict[tuple[JobState, JobEvent], JobState] = {
    (JobState.QUEUED, JobEvent.START): JobState.RUNNING,
    (JobState.QUEUED, JobEvent.FAIL): JobState.FAILED,
    (JobState.QUEUED, JobEvent.CANCEL): JobState.CANCELLED,
    (JobState.RUNNING, JobEvent.SUCCEED): JobState.SUCCEEDED,
    (JobState.RUNNING, JobEvent.FAIL): JobState.FAILED,
    (JobState.RUNNING, JobEvent.CANCEL): JobState.CANCELLED,
}

FINAL = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED})

# A job that ran when the process died is queued again once: twice would be a crash loop.
MOST_ATTEMPTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job.

    Attributes:
        id: `<service>-<time in ms>`.
        seed: of everything random in it; the same rows and seed give the same model.
        attempt: 1, or 2 after the process died under the first.
        progress: 0..1; message: how far, or how it ended, for people.
        created_s, started_s, ended_s: UTC epoch seconds; None is not yet.
        rows: rows of the data set that it was given.
        result: digest of the model that it made; "" is none.
        error: code of why it failed; "" is none.
    """

    id: str
    service: str
    trigger: JobTrigger
    author: str
    created_s: float
    kind: JobKind = JobKind.TRAIN
    reason: str = ""
    seed: int = 0
    attempt: int = 1
    state: JobState = JobState.QUEUED
    progress: float = 0.0
    message: str = ""
    started_s: float | None = None
    ended_s: float | None = None
    rows: int = 0
    result: str = ""
    error: str = ""

    @property
    def final(self) -> bool:
        """Whether nothing can happen to it any more."""
        return self.state in FINAL

    @property
    def subject(self) -> str:
        """Its name in the audit log."""
        return f"service/{self.service} job/{self.id}"


def advanced(job: Job, event: JobEvent, now_s: float, message: str = "") -> Job:
    """The job after an event.

    Raises:
        Conflict: the event cannot happen in the job's state.
    """
    state = state_after("job_state", NEXT, job.state, event, ("job", job.id))
    if state is JobState.RUNNING:
        return replace(job, state=state, started_s=now_s, message=message)
    progress = 1.0 if state is JobState.SUCCEEDED else job.progress
    return replace(job, state=state, ended_s=now_s, progress=progress, message=message)


def again(job: Job, now_s: float) -> Job | None:
    """The second attempt of a job whose process died; None when it was the last one."""
    if job.attempt >= MOST_ATTEMPTS:
        return None
    attempt = job.attempt + 1
    return Job(
        id=f"{job.id}.{attempt}",
        service=job.service,
        trigger=job.trigger,
        author=job.author,
        created_s=now_s,
        kind=job.kind,
        reason=job.reason,
        seed=job.seed,
        attempt=attempt,
    )
