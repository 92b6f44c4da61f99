"""`signalbox serve` as a process: what a stop keeps, and what a start refuses."""

import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from controlplane import serving as serving_module
from controlplane.api.fleet_document.rendering import render
from controlplane.domain.errors import Retryable
from tests.builders import fleet, service

START_S = 60.0


@contextmanager
def serving(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """A server on free ports; its process, URL and one-time token."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SIGNALBOX_")} | {
        "SIGNALBOX_DATA_DIR": str(folder / "data"),
        "SIGNALBOX_HTTP_PORT": "0",
        "SIGNALBOX_ADS_PORT": "0",
        # Whatever else listens on this machine must move no traffic of the test's fleet.
        "SIGNALBOX_HEALTH_CHECKS": "off",
    }
    log, out = folder / "log", folder / "out"
    with log.open("w") as errors, out.open("w") as printed:
        process = subprocess.Popen(
            [sys.executable, "-m", "controlplane", "serve"],
            env=environment,
            stdout=printed,
            stderr=errors,
            text=True,
        )
    try:
        url = _found(r"api=(http://\S+)", log, process)
        yield process, url, _found(r"(sbx_\S+)", out, process)
    finally:
        process.kill()
        process.wait()


def _found(pattern: str, path: Path, process: subprocess.Popen[str]) -> str:
    deadline_s = time.monotonic() + START_S
    while time.monotonic() < deadline_s and process.poll() is None:
        if match := re.search(pattern, path.read_text()):
            return match.group(1)
        time.sleep(0.05)
    raise AssertionError(f"{path} never showed {pattern}: {path.read_text()}")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_writes_what_was_accepted(tmp_path: Path, number: signal.Signals) -> None:
    with serving(tmp_path) as (process, url, token):
        with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}) as http:
            http.put("/v1/fleet", content=render(fleet())).raise_for_status()
            sample = {"service": "tickets", "datacenter": "beijing-1", "response_time_ms": 50.0}
            answer = http.post(
                "/v1/samples", json={"samples": [sample | {"request_rate_rps": 10.0}]}
            )
            assert answer.json()["accepted"] == 1
        process.send_signal(number)
        assert process.wait(5) == 0
    with closing(sqlite3.connect(tmp_path / "data" / "signalbox.db")) as database:
        assert database.execute("select count(*) from samples").fetchone() == (1,)
    assert "Traceback" not in (tmp_path / "log").read_text()


def test_a_data_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    done = subprocess.run(
        [sys.executable, "-m", "controlplane", "serve"],
        env=os.environ | {"SIGNALBOX_DATA_DIR": str(tmp_path / "data"), "SIGNALBOX_HTTP_PORT": "0"},
        capture_output=True,
        text=True,
        check=False,
        timeout=START_S,
    )
    assert done.returncode == 6
    assert "SIGNALBOX_DATA_DIR" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_stop_answers_who_waits(tmp_path: Path) -> None:
    """A long poll gets 304, a stream ends in good order: nobody sees an error."""
    with serving(tmp_path) as (process, url, token):
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=url, headers=headers, timeout=30) as http:
            http.put("/v1/fleet", content=render(fleet())).raise_for_status()
            etag = _published(http)
            with ThreadPoolExecutor() as threads:
                poll = threads.submit(
                    http.get, "/v1/config?wait=30", headers={"If-None-Match": etag}
                )
                stream = threads.submit(_read_to_the_end, http)
                time.sleep(0.5)
                started = time.monotonic()
                process.send_signal(signal.SIGTERM)
                answer, events = poll.result(), stream.result()
                assert process.wait(5) == 0
                assert time.monotonic() - started < 2.0
        assert (answer.status_code, answer.headers["etag"]) == (304, etag)
        assert b"event: snapshot" in events
    assert "Traceback" not in (tmp_path / "log").read_text()


def test_an_older_copy_restored_under_it_does_not_take_it_back(tmp_path: Path) -> None:
    """Into the open database, as `sqlite3 signalbox.db ".restore older"` does."""
    database, older = tmp_path / "data" / "signalbox.db", tmp_path / "older"
    with serving(tmp_path) as (process, url, token):
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=url, headers=headers, timeout=30) as http:
            http.put("/v1/fleet", content=_with_timeout(1_000)).raise_for_status()
            first = _revision_after(http, 0)
            _copy_database(database, older)
            for timeout_ms in (1_001, 1_002):
                http.put("/v1/fleet", content=_with_timeout(timeout_ms)).raise_for_status()
                first = _revision_after(http, first)
            _copy_database(older, database)
            http.put("/v1/fleet", content=_with_timeout(1_003)).raise_for_status()
            deadline_s = time.monotonic() + START_S
            while b'"timeout_ms":1003' not in (answer := http.get("/v1/config")).content:
                assert time.monotonic() < deadline_s, answer.text
                assert int(answer.headers["x-signalbox-revision"]) >= first
            newest = int(answer.headers["x-signalbox-revision"])
            assert newest > first
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == 0
    with closing(sqlite3.connect(database)) as stored:
        assert stored.execute("select max(revision) from snapshots").fetchone() == (newest,)
        assert stored.execute("select max(generation) from fleets").fetchone() == (4,)
    assert "Traceback" not in (tmp_path / "log").read_text()


def test_a_stop_leaves_no_lost_database(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, url, token):
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=url, headers=headers) as http:
            http.put("/v1/fleet", content=render(fleet())).raise_for_status()
        for path in (tmp_path / "data").glob("signalbox.db*"):
            path.unlink()
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    with closing(sqlite3.connect(tmp_path / "data" / "signalbox.db")) as stored:
        assert stored.execute("select count(*) from fleets").fetchone() == (1,)


def _with_timeout(timeout_ms: int) -> str:
    return render(fleet(replace(service(), timeout_ms=timeout_ms)))


def _revision_after(http: httpx.Client, revision: int) -> int:
    deadline_s = time.monotonic() + START_S
    while time.monotonic() < deadline_s:
        found = int(http.get("/v1/config").headers.get("x-signalbox-revision", 0))
        if found > revision:
            return found
        time.sleep(0.05)
    raise AssertionError(f"nothing newer than revision {revision}")


def _copy_database(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as here, closing(sqlite3.connect(target)) as there:
        here.backup(there)


def _published(http: httpx.Client) -> str:
    deadline_s = time.monotonic() + START_S
    while time.monotonic() < deadline_s:
        answer = http.get("/v1/config?wait=10")
        if answer.is_success:
            return answer.headers["etag"]
    raise AssertionError(answer.text)


def _read_to_the_end(http: httpx.Client) -> bytes:
    with http.stream("GET", "/v1/watch") as response:
        return b"".join(response.iter_bytes())


def test_the_port_refuses_until_the_snapshot_is_in_force() -> None:
    """Taken at once, so that another process is told; open only when there is something to say."""
    bound = serving_module._bind("127.0.0.1", 0)
    with bound:
        place = bound.getsockname()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(place, timeout=5)
        serving_module._listen(bound, "here")
        with pytest.raises(Retryable):
            serving_module._bind(*place)
        socket.create_connection(place, timeout=5).close()
