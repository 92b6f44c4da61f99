import pytest

from controlplane.domain.errors import Conflict
from controlplane.domain.jobs import NEXT, JobEvent, JobState
from controlplane.domain.state_table import state_after


def test_a_refusal_names_the_record_its_state_and_the_event() -> None:
    record = ("job", "tickets-1")
    assert state_after("job_state", NEXT, JobState.QUEUED, JobEvent.START, record) is (
        JobState.RUNNING
    )
    with pytest.raises(Conflict, match="job tickets-1 is failed: there is nothing to cancel") as no:
        state_after("job_state", NEXT, JobState.FAILED, JobEvent.CANCEL, record)
    assert no.value.code == "job_state"
    assert no.value.details == {"state": "failed", "job": "tickets-1"}
