"""/v1/jobs, and POST /v1/services/{name}:train: training a model takes minutes, so it is a job."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response, status

from controlplane.api.dependencies import ModelKeeper, Services, Viewer
from controlplane.api.edge.idempotency import Repeatable
from controlplane.api.edge.paging import Cursor, Limit, cut, moment
from controlplane.api.wire.values import Items, Reason, Wire, stamp, stamp_or_none
from controlplane.domain.jobs import Job, JobKind, JobState, JobTrigger

router = APIRouter(prefix="/v1", tags=["jobs"])

Name = Annotated[str, Path(max_length=64)]
JobId = Annotated[str, Path(max_length=128)]


class ReasonIn(Wire):
    """Why, for the audit log."""

    reason: Reason = ""


class JobOut(Wire):
    """A job; `result` is the digest of the model that it made, `error` the code of why not."""

    id: str
    kind: JobKind
    service: str
    trigger: JobTrigger
    state: JobState
    progress: float
    message: str
    author: str
    reason: str
    attempt: int
    seed: int
    rows: int
    created: datetime
    started: datetime | None
    ended: datetime | None
    result: str
    error: str


@router.post("/services/{name}:train", status_code=status.HTTP_202_ACCEPTED)
async def train_model(
    *,
    services: Services,
    caller: ModelKeeper,
    name: Name,
    wanted: ReasonIn,
    response: Response,
    write: Repeatable,
) -> JobOut:
    """Train a model on what the service has reported; the job is at `Location`."""
    job = await write.once(
        caller, lambda: services.jobs.submit(name, JobTrigger.MANUAL, caller, wanted.reason)
    )
    response.headers["Location"] = f"/v1/jobs/{job.id}"
    return _job(job)


@router.get("/jobs")
async def list_jobs(
    services: Services,
    _caller: Viewer,
    service: Annotated[str | None, Query(max_length=64)] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Items[JobOut]:
    """The newest jobs first."""
    found = await services.jobs.recent(service, limit + 1, moment(cursor))
    page, after = cut(found, limit, lambda job: (job.created_s, job.id))
    return Items(items=[_job(job) for job in page], next=after)


@router.get("/jobs/{job_id}")
async def read_job(services: Services, _caller: Viewer, job_id: JobId) -> JobOut:
    """One job as it is now."""
    return _job(await services.jobs.by_id(job_id))


@router.post("/jobs/{job_id}:cancel")
async def cancel_job(
    services: Services, caller: ModelKeeper, job_id: JobId, wanted: ReasonIn
) -> JobOut:
    """End a job that is queued or running; nothing of it is kept."""
    return _job(await services.jobs.cancel(job_id, caller, wanted.reason))


def _job(job: Job) -> JobOut:
    return JobOut(
        id=job.id,
        kind=job.kind,
        service=job.service,
        trigger=job.trigger,
        state=job.state,
        progress=job.progress,
        message=job.message,
        author=job.author,
        reason=job.reason,
        attempt=job.attempt,
        seed=job.seed,
        rows=job.rows,
        created=stamp(job.created_s),
        started=stamp_or_none(job.started_s),
        ended=stamp_or_none(job.ended_s),
        result=job.result,
        error=job.error,
    )
