"""Condensing on a real file: killed halfway nothing is lost or counted twice; nobody waits long."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from tests.adapters.sql.test_schema import open_stores
from tests.ports.examples import sample, snapshot

ROWS = 40_000

CHILD = """
import asyncio, sys
from pathlib import Path
from tests.adapters.sql.test_schema import open_stores

async def main():
    stores = await open_stores(Path(sys.argv[1]))
    print("begun", flush=True)
    await stores.minutes.condense(1e12)
    print("done", flush=True)

asyncio.run(main())
"""


async def _filled(directory: Path) -> None:
    stores = await open_stores(directory)
    # Six in each minute, told apart by their load.
    await stores.samples.append(
        [replace(sample(10.0 * n), request_rate_rps=float(n % 6)) for n in range(ROWS)]
    )
    await stores.close()


def _counts(directory: Path) -> tuple[int, int, float]:
    """Raw samples, samples in minutes, and the sum of all loads."""
    with closing(sqlite3.connect(directory / "signalbox.db")) as database:
        raw, load = database.execute(
            "select count(*), coalesce(sum(request_rate_rps), 0) from samples"
        ).fetchone()
        inside, mean_load = database.execute(
            "select coalesce(sum(samples), 0), coalesce(sum(samples * request_rate_rps), 0)"
            " from sample_minutes"
        ).fetchone()
    return raw, inside, load + mean_load


def _kill_halfway(directory: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(directory)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[3],
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"begun\n"
    deadline_s = time.monotonic() + 20
    while _counts(directory)[1] < ROWS / 10:
        assert time.monotonic() < deadline_s
    os.kill(child.pid, signal.SIGKILL)
    child.stdout.close()
    child.wait()


async def test_killed_halfway_each_sample_is_in_one_place(tmp_path: Path) -> None:
    await _filled(tmp_path)
    whole = _counts(tmp_path)
    assert whole[:2] == (ROWS, 0)
    await asyncio.to_thread(_kill_halfway, tmp_path)
    raw, inside, load = _counts(tmp_path)
    assert raw > 0
    assert inside > 0
    assert raw + inside == ROWS
    assert abs(load - whole[2]) < 1e-3
    stores = await open_stores(tmp_path)
    assert await stores.minutes.condense(1e12) == raw
    await stores.close()
    raw, inside, load = _counts(tmp_path)
    assert (raw, inside) == (0, ROWS)
    assert abs(load - whole[2]) < 1e-3


async def test_a_snapshot_does_not_wait_for_condensing(tmp_path: Path) -> None:
    await _filled(tmp_path)
    stores = await open_stores(tmp_path)
    condensing = asyncio.create_task(stores.minutes.condense(1e12))
    await asyncio.sleep(0.02)
    await stores.snapshots.append(snapshot(), 0)
    assert not condensing.done()
    assert await condensing == ROWS
    await stores.close()
