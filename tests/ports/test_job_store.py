"""JobStore: the newest state by id, newest first, dropped when old and final."""

from dataclasses import replace

import pytest

from controlplane.domain.errors import NotFound
from controlplane.domain.jobs import Job, JobEvent, JobTrigger, advanced
from tests.ports.conftest import Stores
from tests.ports.examples import entry


def job(number: int, service: str = "tickets") -> Job:
    return Job(
        id=f"{service}-{number}",
        service=service,
        trigger=JobTrigger.WEEKLY,
        author="retraining",
        created_s=float(number),
    )


def ended(one: Job) -> Job:
    return advanced(one, JobEvent.CANCEL, one.created_s + 1.0, "not wanted")


async def test_nothing_stored(stores: Stores) -> None:
    assert await stores.jobs.recent(None, 9) == []
    assert await stores.jobs.unfinished() == []
    with pytest.raises(NotFound) as caught:
        await stores.jobs.by_id("tickets-1")
    assert caught.value.code == "job_not_found"


async def test_newest_first_and_the_newest_state(stores: Stores) -> None:
    for one in (job(1), job(3), job(2, "video")):
        await stores.jobs.put(one)
    done = replace(ended(job(3)), rows=7)
    await stores.jobs.put(done, entry("job.cancel"))
    assert await stores.jobs.by_id("tickets-3") == done
    assert await stores.jobs.recent(None, 2) == [done, job(2, "video")]
    assert await stores.jobs.recent("tickets", 9) == [done, job(1)]
    assert await stores.jobs.unfinished() == [job(1), job(2, "video")]
    assert [e.action for e in await stores.audit.recent(9)] == ["job.cancel"]


async def test_reading_on_behind_one(stores: Stores) -> None:
    for one in (job(1), job(3), job(2, "video")):
        await stores.jobs.put(one)
    assert await stores.jobs.recent(None, 9, (3.0, "tickets-3")) == [job(2, "video"), job(1)]
    assert await stores.jobs.recent("tickets", 9, (3.0, "tickets-3")) == [job(1)]
    assert await stores.jobs.recent(None, 9, (1.0, "tickets-1")) == []


async def test_prune_drops_what_is_old_and_final(stores: Stores) -> None:
    for one in (ended(job(1)), job(2), ended(job(3))):
        await stores.jobs.put(one)
    assert await stores.jobs.prune(before_s=3.0) == 1
    assert await stores.jobs.recent(None, 9) == [ended(job(3)), job(2)]
    assert await stores.jobs.prune(before_s=3.0) == 0
