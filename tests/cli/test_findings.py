"""Findings on the command line: listed, shown, forced, and named by `status`."""

import json
import time

from tests.builders import sample
from tests.cli.conftest import Run, Server


def _jump(server: Server) -> None:
    server.do(server.house.declare())
    now_s = time.time()
    for back in range(10):
        at_s = now_s - 600.0 + 60.0 * back
        one = sample(time_s=at_s, response_time_ms=50.0 + back)
        server.do(server.house.intake.accept([one]))
    server.do(server.house.intake.accept([sample(time_s=now_s, request_rate_rps=9_000.0)]))


def test_findings_are_listed_shown_and_forced(run: Run, server: Server) -> None:
    nothing = run("findings", "list")
    assert (nothing.code, nothing.out, nothing.err) == (0, "", "nothing is wrong\n")
    _jump(server)
    assert "metrics_jumped" in run("status").out
    assert json.loads(run("status", "--json").out)["findings"][0]["code"] == "metrics_jumped"
    listed = run("findings", "list")
    assert "service/tickets datacenter/beijing-1" in listed.out
    (finding,) = json.loads(run("findings", "list", "--json").out)
    assert run("findings", "list", "--subject", "service/other").out == ""
    shown = run("findings", "show", finding["id"]).out
    assert "request_rate_rps is 9000" in shown
    assert f"signalbox findings force {finding['id']} --reason" in shown
    assert run("findings", "force", finding["id"]).code == 2
    forced = run("findings", "force", finding["id"], "--reason", "flash sale")
    assert (forced.code, forced.err) == (0, "what was held is taken for true\n")
    assert run("findings", "list").out == ""
    assert finding["id"] in run("findings", "list", "--all").out
    shown = json.loads(run("findings", "show", finding["id"], "--json").out)
    assert shown["standing"] is False
    assert "flash sale" in run("audit").out
