"""The state table of jobs."""

import itertools

import pytest

from controlplane.domain.canonical import decode, encode
from controlplane.domain.errors import Conflict
from controlplane.domain.jobs import (
    FINAL,
    NEXT,
    Job,
    JobEvent,
    JobState,
    JobTrigger,
    advanced,
    again,
)

JOB = Job(
    id="tickets-1", service="tickets", trigger=JobTrigger.EARLY, author="retraining", created_s=1.0
)


def test_the_usual_way() -> None:
    running = advanced(JOB, JobEvent.START, 2.0, "rows")
    assert (running.state, running.started_s, running.ended_s) == (JobState.RUNNING, 2.0, None)
    done = advanced(running, JobEvent.SUCCEED, 9.0, "made")
    assert (done.state, done.ended_s, done.progress) == (JobState.SUCCEEDED, 9.0, 1.0)
    assert done.final
    assert not running.final
    assert decode(Job, encode(done)) == done
    assert JOB.subject == "service/tickets job/tickets-1"


@pytest.mark.parametrize(("state", "event"), list(itertools.product(JobState, JobEvent)))
def test_every_other_step_is_refused(state: JobState, event: JobEvent) -> None:
    job = Job(**{name: getattr(JOB, name) for name in JOB.__slots__} | {"state": state})
    if (state, event) in NEXT:
        assert advanced(job, event, 3.0).state is NEXT[(state, event)]
        return
    with pytest.raises(Conflict, match=f"is {state}"):
        advanced(job, event, 3.0)


def test_nothing_leads_out_of_a_final_state() -> None:
    assert not {state for state, _ in NEXT} & FINAL
    assert set(NEXT.values()) == {JobState.RUNNING, *FINAL}


def test_a_second_attempt_and_no_third() -> None:
    second = again(JOB, 5.0)
    assert second is not None
    assert (second.id, second.attempt, second.seed) == ("tickets-1.2", 2, JOB.seed)
    assert second.state is JobState.QUEUED
    assert again(second, 6.0) is None
