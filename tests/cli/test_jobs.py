"""`signalbox jobs`, and `signalbox models train` as a job that is waited for."""

import asyncio
import json
from collections.abc import Iterator

import pytest

from controlplane.domain.errors import Invalid
from tests.cli.conftest import Run, Server


@pytest.fixture
def working(server: Server, run: Run) -> Iterator[Run]:
    """A server whose queue is worked off; its trainer waits to be told."""
    server.do(server.house.declare())
    task = asyncio.run_coroutine_threadsafe(server.house.jobs.run(), server._loop)
    yield run
    task.cancel()


def test_a_job_is_listed_shown_and_cancelled(server: Server, working: Run) -> None:
    started = json.loads(working("models", "train", "tickets", "--reason", "try", "--json").out)
    assert started["reason"] == "try"
    job_id = started["id"]
    assert job_id in working("jobs", "list", "--service", "tickets").out
    assert json.loads(working("jobs", "list", "--service", "other", "--json").out) == []
    assert "manual" in working("jobs", "show", job_id).out
    refused = working("models", "train", "tickets")
    assert refused.code == 4
    assert "job_open" in refused.err
    assert working("jobs", "cancel", job_id, "--reason", "no").code == 0
    waited = working("jobs", "show", job_id, "--wait")
    assert waited.code == 1
    assert "cancelled by the-admin: no" in waited.err
    assert working("jobs", "show", "nothing").code == 3


def test_waiting_shows_progress_and_ends_with_the_model(server: Server, working: Run) -> None:
    server._loop.call_soon_threadsafe(server.house.trainer.go.set)
    done = working("models", "train", "tickets", "--promote", "--json")
    assert done.code == 0, done.err
    model = json.loads(done.out)
    assert model["aliases"] == ["champion"]
    assert "100%" in done.err
    (job,) = json.loads(working("jobs", "list", "--json").out)
    assert (job["state"], job["result"]) == ("succeeded", model["digest"])


def test_a_failure_ends_the_wait(server: Server, working: Run) -> None:
    server.house.trainer.error = Invalid("too_few_rows", "12 complete rows, at least 40 needed")
    server._loop.call_soon_threadsafe(server.house.trainer.go.set)
    failed = working("models", "train", "tickets", "--wait")
    assert failed.code == 2
    assert "12 complete rows" in failed.err
    assert json.loads(working("models", "list", "--json").out) == []
