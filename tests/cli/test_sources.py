"""`signalbox status` names the metric sources and how their last round ended."""

import json
from dataclasses import replace

from controlplane.domain.errors import Retryable
from tests import builders
from tests.api.house import START_S
from tests.cli.conftest import Run, Server
from tests.fakes.metric_sources import MAIN


def test_status_shows_sources(run: Run, server: Server) -> None:
    server.do(server.house.declare())
    assert "METRIC SOURCE" not in run("status").out
    server.do(server.house.declare(replace(builders.fleet(), metric_sources=(MAIN,))))
    shown = run("status").out
    assert "METRIC SOURCE" in shown
    assert "waiting" in shown
    server.house.source.fail = Retryable("source_away", "no answer")
    server.do(server.house.puller.round(server.house.puller.pulls["main"], START_S))
    (line,) = [line for line in run("status").out.splitlines() if line.startswith("main")]
    assert line.split()[1:4] == ["fake", "failed", "0"]
    told = json.loads(run("status", "--json").out)
    assert [one["name"] for one in told["sources"]] == ["main"]
