import asyncio

import pytest
from structlog.testing import capture_logs

from controlplane.engine.supervision import Supervisor


async def test_a_task_that_ends_is_not_started_again() -> None:
    runs: list[int] = []

    async def work() -> None:
        runs.append(1)

    supervisor = Supervisor()
    await supervisor.keep("short", work)
    assert (runs, supervisor.failures) == ([1], {})


async def test_a_failure_is_logged_with_its_traceback_counted_and_repaired() -> None:
    runs: list[int] = []

    async def work() -> None:
        runs.append(1)
        if len(runs) < 3:
            raise ZeroDivisionError("bug")

    supervisor = Supervisor()
    with capture_logs() as logs:
        await supervisor.keep("loop", work)
    assert len(runs) == 3
    assert supervisor.failures == {"loop": 2}
    assert [(entry["event"], entry["exc_info"]) for entry in logs] == [("task.failed", True)] * 2


async def test_cancellation_passes() -> None:
    supervisor = Supervisor()
    task = asyncio.create_task(supervisor.keep("idle", lambda: asyncio.sleep(60)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert supervisor.failures == {}
