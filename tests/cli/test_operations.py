"""The commands about alerts, scenarios, planned changes, webhooks and incidents."""

import json
from pathlib import Path

from tests import builders
from tests.api.house import WEBHOOK_ORIGIN
from tests.cli.conftest import Run, Server

POLICY = """
matchers:
  - {label: alertname, value: CenterDown}
order:
  kind: failover
  target: {datacenter: "{datacenter}"}
"""
SCENARIO = """
title: flooded
orders:
  - {kind: failover, target: {datacenter: beijing-1}, return_s: 0}
  - {kind: freeze}
lasts_s: 600
"""
CHANGE = """
title: by stages
stages:
  - title: half
    orders:
      - {kind: pin, target: {service: tickets}, shares: {beijing-1: 1, beijing-2: 1}}
    hold_s: 900
  - title: look
"""


def written(folder: Path, text: str) -> str:
    path = folder / "body.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_policy_is_put_tried_and_removed(run: Run, server: Server, tmp_path: Path) -> None:
    server.do(server.house.declare(builders.fleet()))
    put = run("alert-policies", "put", "leave", "-f", written(tmp_path, POLICY), "--reason", "x")
    assert json.loads(put.out)["name"] == "leave"
    listed = run("alert-policies", "list").out.splitlines()
    assert "alertname=CenterDown" in listed[1]
    assert "failover datacenter={datacenter}" in listed[1]
    tried = run("alert-policies", "test", "alertname=CenterDown", "datacenter=beijing-1")
    assert "datacenter/beijing-1" in tried.out
    assert json.loads(run("alert-policies", "show", "leave").out)["mode"] == "act"
    alert = {"status": "firing", "labels": {"alertname": "CenterDown", "datacenter": "beijing-1"}}

    async def told() -> None:
        async with server.house.client() as client:
            await client.post("/v1/alerts", json={"alerts": [alert]})

    server.do(told())
    assert "CenterDown" in run("alerts", "list").out
    assert "failover-1" in run("alerts", "episodes").out
    for words in (("alerts", "list"), ("alerts", "episodes"), ("alert-policies", "list")):
        assert len(json.loads(run(*words, "--json").out)) == 1
    tried = run("alert-policies", "test", "alertname=CenterDown", "--json")
    assert json.loads(tried.out)[0]["objection"]
    own = run("alert-policies", "test", "alertname=CenterDown", "--origin", "findings", "--json")
    assert json.loads(own.out) == []
    assert "is removed" in run("alert-policies", "remove", "leave").err


def test_the_list_of_intents_says_how_each_has_ended(run: Run, server: Server) -> None:
    server.do(server.house.declare(builders.fleet()))
    run("freeze", "--reason", "look")
    run("intents", "undo", "freeze-1")
    assert " returning " in run("intents", "list").out
    server.do(server.house.tick())
    server.do(server.house.intents.course.look())
    assert "freeze-1" not in run("intents", "list").out
    assert " undone " in run("intents", "list", "--all").out


def test_a_scenario_is_forecast_applied_and_undone(
    run: Run, server: Server, tmp_path: Path
) -> None:
    server.do(server.house.declare(builders.fleet()))
    put = run("scenarios", "put", "flood", "-f", written(tmp_path, SCENARIO))
    assert put.code == 0, put.err
    assert "failover, freeze" in run("scenarios", "list").out
    assert json.loads(run("scenarios", "show", "flood").out)["lasts_s"] == 600
    forecast = run("scenarios", "forecast", "flood")
    assert "# failover datacenter/beijing-1" in forecast.out
    assert len(json.loads(run("scenarios", "forecast", "flood", "--json").out)) == 2
    applied = run("scenarios", "apply", "flood", "--reason", "rain")
    assert "standing: failover-1, freeze-2" in applied.out
    name = applied.out.split()[1]
    assert name in run("scenarios", "runs").out
    undone = run("scenarios", "undo", name, "--json")
    assert json.loads(undone.out)["undone"]
    assert len(json.loads(run("scenarios", "runs", "--json").out)) == 1
    assert len(json.loads(run("scenarios", "list", "--json").out)) == 1
    assert run("scenarios", "remove", "flood").code == 0


def test_changes_are_planned_steered_and_forgotten(
    run: Run, server: Server, tmp_path: Path
) -> None:
    server.do(server.house.declare(builders.fleet()))
    shown = run("changes", "plan", "own", "-f", written(tmp_path, CHANGE), "--dry-run")
    assert "an operator" in shown.out
    assert json.loads(run("changes", "list", "--json").out) == []
    assert "changes start own" in run("changes", "plan", "own", "-f", written(tmp_path, CHANGE)).err
    assert json.loads(run("changes", "start", "own", "--json").out)["state"] == "running"
    assert json.loads(run("changes", "pause", "own", "--json").out)["state"] == "paused"
    assert json.loads(run("changes", "resume", "own", "--json").out)["state"] == "running"
    assert json.loads(run("changes", "advance", "own", "--json").out)["stage"] == 1
    assert "1 of 2" not in run("changes", "list").out
    aborted = run("changes", "abort", "own", "--reason", "wrong day")
    assert "state:  aborted" in aborted.out.replace("  ", " ").replace("state: ", "state:  ")
    assert run("changes", "resume", "own").code == 4
    assert "stage" in run("changes", "show", "own", "--json").out
    assert run("changes", "remove", "own").code == 0
    options = ("--hold", "60", "--most-errors", "0.01", "--most-use", "0.8", "--dry-run")
    upgrade = json.loads(
        run("changes", "upgrade", "kernel", "beijing-1", "beijing-2", *options, "--json").out
    )
    assert len(upgrade["stages"]) == 6
    assert upgrade["stages"][0]["gate"]["most_utilization"] == 0.8
    moved = run("changes", "migrate", "m", "beijing-1", "beijing-2", "--step", "0.5", "--step", "1")
    assert "50 % of beijing-1 to beijing-2" in moved.out


def test_a_webhook_is_put_tested_and_removed(run: Run, server: Server) -> None:
    put = run("webhooks", "put", "pager", f"{WEBHOOK_ORIGIN}/hook", "--event", "incident.opened")
    assert put.out.startswith("whsec_")
    again = run("webhooks", "put", "pager", f"{WEBHOOK_ORIGIN}/hook")
    assert "the same" in again.err
    assert "whsec_" not in run("webhooks", "list").out
    assert json.loads(run("webhooks", "list", "--json").out)[0]["events"] == []
    as_json = run("webhooks", "put", "pager", f"{WEBHOOK_ORIGIN}/hook", "--renew-secret", "--json")
    assert json.loads(as_json.out)["secret"].startswith("whsec_")
    assert run("webhooks", "test", "pager").code == 0
    server.do(server.house.operations.messenger.settle())
    assert "delivered" in run("webhooks", "deliveries").out
    (sent,) = json.loads(run("webhooks", "deliveries", "--json").out)
    assert "on its way" in run("webhooks", "redeliver", sent["id"]).err
    assert run("webhooks", "remove", "pager").code == 0
    assert run("webhooks", "put", "x", "https://evil.example").code == 5


def test_an_incident_is_opened_noted_told_and_closed(run: Run) -> None:
    opened = json.loads(run("incidents", "open", "drill", "--json").out)
    name = opened["name"]
    assert "noted" in run("incidents", "note", name, "pumps are on").err
    assert "pumps are on" in run("incidents", "timeline", name).out
    assert run("incidents", "timeline", name, "--markdown").out.startswith("# drill\n")
    assert json.loads(run("incidents", "timeline", name, "--json").out)["incident"] == opened
    assert "drill" in run("incidents", "close", name).out
    assert name in run("incidents", "list").out
    assert len(json.loads(run("incidents", "list", "--json").out)) == 1


def test_a_file_that_is_no_mapping_is_named(run: Run, tmp_path: Path) -> None:
    for text in ("- a\n", "a: [\n"):
        done = run("scenarios", "put", "x", "-f", written(tmp_path, text))
        assert (done.code, done.out) == (2, "")
