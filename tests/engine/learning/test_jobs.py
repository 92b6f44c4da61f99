"""The queue of training jobs over stores in memory, with a trainer that the test holds."""

import asyncio
from dataclasses import dataclass, replace

import pytest

from controlplane.domain.errors import Conflict, Invalid, NotFound, Retryable
from controlplane.domain.findings import Source
from controlplane.domain.jobs import Job, JobState, JobTrigger
from controlplane.engine.findings import Findings
from controlplane.engine.learning.jobs import MOST_OPEN, Jobs
from tests.builders import OPERATOR, fleet, service
from tests.engine.rig import Rig
from tests.fakes import training_jobs
from tests.fakes.training_jobs import HeldTrainer, JobStores


@dataclass(slots=True)
class Bench:
    rig: Rig
    trainer: HeldTrainer
    findings: Findings
    jobs: Jobs
    task: asyncio.Task[None]

    async def until(self, job: Job, state: JobState) -> Job:
        async with asyncio.timeout(5):
            while (found := await self.jobs.by_id(job.id)).state is not state:
                await asyncio.sleep(0.001)
        return found

    async def end(self) -> None:
        self.task.cancel()
        await asyncio.wait({self.task})


async def bench(rig: Rig | None = None) -> Bench:
    if rig is None:
        rig = Rig()
        await rig.declare(fleet(service("tickets"), service("video")))
    trainer = HeldTrainer()
    stores = JobStores(
        samples=rig.stores.samples,
        decisions=rig.stores.decisions,
        jobs=rig.stores.jobs,
        audit=rig.stores.audit,
    )
    at_work = training_jobs.workshop(stores, rig.fleets, rig.models, trainer)
    jobs = training_jobs.jobs(stores, at_work, rig.instruments)
    await jobs.restore()
    return Bench(rig, trainer, rig.instruments.findings, jobs, asyncio.create_task(jobs.run()))


async def test_a_job_becomes_a_registered_model() -> None:
    b = await bench()
    await b.rig.measure()
    b.rig.clock.time_s += 60.0
    await b.rig.measure()
    job = await b.jobs.submit("tickets", JobTrigger.MANUAL, OPERATOR, "try")
    running = await b.until(job, JobState.RUNNING)
    async with asyncio.timeout(5):
        while running.progress < 0.5:
            await asyncio.sleep(0.001)
            running = await b.jobs.by_id(job.id)
    assert (running.message, running.rows, running.started_s) == ("halfway", 1, b.rig.clock.now())
    assert b.trainer.orders[0].settings == "quick"
    assert b.trainer.rows[0].count("\n") == 2
    b.trainer.go.set()
    done = await b.until(job, JobState.SUCCEEDED)
    assert [model.digest for model in await b.rig.models.all("tickets")] == [done.result]
    assert b.jobs.ended[JobState.SUCCEEDED] == 1
    assert b.jobs.trainings["tickets"].trained_s == done.ended_s
    actions = [e.action for e in b.rig.stores.audit.entries[-3:]]
    assert actions == ["job.submit", "model.add", "model.enroll"]
    await b.end()


async def test_one_at_a_time_in_order_and_one_per_service() -> None:
    b = await bench()
    first = await b.jobs.submit("tickets", JobTrigger.MANUAL, OPERATOR)
    second = await b.jobs.submit("video", JobTrigger.WEEKLY, OPERATOR)
    await b.until(first, JobState.RUNNING)
    assert (await b.jobs.by_id(second.id)).state is JobState.QUEUED
    with pytest.raises(Conflict) as caught:
        await b.jobs.submit("tickets", JobTrigger.EARLY, OPERATOR)
    assert caught.value.details["job"] == first.id
    b.trainer.go.set()
    await b.until(second, JobState.SUCCEEDED)
    assert [order.service.name for order in b.trainer.orders] == ["tickets", "video"]
    assert [job.id for job in await b.jobs.recent(None, 9)] == [second.id, first.id]
    await b.end()


async def test_what_cannot_be_trained_is_refused_at_once() -> None:
    rig = Rig()
    lone = replace(service("lone"), clusters=service().clusters[:1])
    await rig.declare(fleet(service(), lone))
    b = await bench(rig)
    with pytest.raises(NotFound):
        await b.jobs.submit("nothing", JobTrigger.MANUAL, OPERATOR)
    with pytest.raises(Invalid, match="1 data centres"):
        await b.jobs.submit("lone", JobTrigger.MANUAL, OPERATOR)
    await b.end()


async def test_a_full_queue_says_so() -> None:
    rig = Rig()
    await rig.declare(fleet(*(service(f"s{n}") for n in range(MOST_OPEN + 1))))
    b = await bench(rig)
    for n in range(MOST_OPEN):
        await b.jobs.submit(f"s{n}", JobTrigger.MANUAL, OPERATOR)
    with pytest.raises(Retryable) as caught:
        await b.jobs.submit(f"s{MOST_OPEN}", JobTrigger.MANUAL, OPERATOR)
    assert caught.value.code == "jobs_full"
    await b.end()


async def test_a_running_job_is_cancelled_and_the_next_one_runs() -> None:
    b = await bench()
    first = await b.jobs.submit("tickets", JobTrigger.MANUAL, OPERATOR)
    second = await b.jobs.submit("video", JobTrigger.MANUAL, OPERATOR)
    await b.until(first, JobState.RUNNING)
    await b.jobs.cancel(first.id, OPERATOR, "wrong rows")
    done = await b.until(first, JobState.CANCELLED)
    assert done.message == "cancelled by operator: wrong rows"
    assert b.trainer.stopped == 1
    await b.until(second, JobState.RUNNING)
    with pytest.raises(Conflict, match="is cancelled"):
        await b.jobs.cancel(first.id, OPERATOR)
    assert "job.cancel" in [entry.action for entry in b.rig.stores.audit.entries]
    await b.end()


async def test_a_waiting_job_is_cancelled_without_being_started() -> None:
    b = await bench()
    first = await b.jobs.submit("tickets", JobTrigger.MANUAL, OPERATOR)
    second = await b.jobs.submit("video", JobTrigger.MANUAL, OPERATOR)
    await b.until(first, JobState.RUNNING)
    ended = await b.jobs.cancel(second.id, OPERATOR)
    assert ended.state is JobState.CANCELLED
    b.trainer.go.set()
    await b.until(first, JobState.SUCCEEDED)
    assert len(b.trainer.orders) == 1
    await b.end()


@pytest.mark.parametrize(
    ("error", "code"),
    [(Invalid("too_few_rows", "12 rows"), "too_few_rows"), (RuntimeError("bug"), "job_crashed")],
)
async def test_a_failure_is_told_and_cleared_by_the_next_success(
    error: Exception, code: str
) -> None:
    b = await bench()
    b.trainer.error = error
    b.trainer.go.set()
    job = await b.jobs.submit("tickets", JobTrigger.WEEKLY, OPERATOR)
    failed = await b.until(job, JobState.FAILED)
    assert failed.error == code
    (finding,) = b.findings.standing()
    assert (finding.source, finding.observation.code) == (Source.JOBS, "training_failed")
    assert finding.observation.subject == "service/tickets"
    assert b.jobs.trainings["tickets"].trained_s is None
    b.trainer.error = None
    b.rig.clock.time_s += 1
    await b.until(await b.jobs.submit("tickets", JobTrigger.WEEKLY, OPERATOR), JobState.SUCCEEDED)
    assert b.findings.standing() == []
    await b.end()


async def test_a_job_that_ran_when_the_process_died_is_failed_and_queued_again_once() -> None:
    b = await bench()
    job = await b.jobs.submit("tickets", JobTrigger.EARLY, OPERATOR)
    waiting = await b.jobs.submit("video", JobTrigger.WEEKLY, OPERATOR)
    await b.until(job, JobState.RUNNING)
    await b.end()
    assert b.trainer.stopped == 1

    b.rig.clock.time_s += 5
    after = await bench(b.rig)
    dead = await after.jobs.by_id(job.id)
    assert (dead.state, dead.error) == (JobState.FAILED, "job_interrupted")
    video = await after.until(waiting, JobState.RUNNING)
    assert video.attempt == 1
    (second,) = [j for j in after.jobs.open.values() if j.service == "tickets"]
    assert (second.attempt, second.seed, second.trigger) == (2, job.seed, JobTrigger.EARLY)
    after.trainer.go.set()
    await after.until(second, JobState.SUCCEEDED)
    await after.end()


async def test_a_second_death_is_the_last_try() -> None:
    b = await bench()
    await b.jobs.submit("tickets", JobTrigger.EARLY, OPERATOR)
    for _ in range(2):
        async with asyncio.timeout(5):
            while not b.trainer.orders:
                await asyncio.sleep(0.001)
        await b.end()
        b = await bench(b.rig)
    assert b.jobs.open == {}
    states = {job.state for job in await b.jobs.recent("tickets", 9)}
    assert states == {JobState.FAILED}
    # It counts as a try, so that the next one waits for the pause.
    assert b.jobs.trainings["tickets"].tried_s == b.rig.clock.now()
    (finding,) = b.findings.standing()
    assert "job_interrupted" in finding.observation.message
    await b.end()


async def test_a_failure_is_told_after_a_restart_while_its_service_is_declared() -> None:
    b = await bench()
    b.trainer.error = Invalid("too_few_rows", "12 rows")
    b.trainer.go.set()
    job = await b.jobs.submit("tickets", JobTrigger.WEEKLY, OPERATOR)
    await b.until(job, JobState.FAILED)
    (before,) = b.findings.standing()
    await b.end()
    b = await bench(await b.rig.restart())
    (after,) = b.findings.standing()
    assert after.id == before.id
    b.jobs.look()
    assert b.findings.standing() == [after]
    await b.rig.declare(fleet(service("video")))
    b.jobs.look()
    assert b.findings.standing() == []
    await b.end()
    b = await bench(await b.rig.restart())
    assert b.findings.standing() == []
    await b.end()


async def test_a_store_that_is_away_costs_no_training() -> None:
    b = await bench()
    job = await b.jobs.submit("tickets", JobTrigger.MANUAL, OPERATOR)
    await b.until(job, JobState.RUNNING)
    async with asyncio.timeout(5):
        while not b.trainer.orders:
            await asyncio.sleep(0.001)
    b.rig.stores.outage.away = True
    with pytest.raises(Retryable):
        await b.jobs.submit("video", JobTrigger.MANUAL, OPERATOR)
    assert len(b.jobs.open) == 1
    b.trainer.go.set()
    await asyncio.sleep(0.05)
    b.rig.stores.outage.away = False
    done = await b.until(job, JobState.SUCCEEDED)
    assert done.result
    await b.end()
