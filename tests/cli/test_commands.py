"""Every command that talks to the API, for people and for programs."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.domain.access import AccessRole
from controlplane.domain.dither import Dither
from tests import builders
from tests.cli.conftest import Run, Server
from tests.domain.decided import decided
from tests.domain.two_centers import law_model

FLEET = Path(__file__).parents[2] / "data" / "fleets" / "two-centers.yaml"


def test_apply_diff_and_export_go_round(run: Run, tmp_path: Path) -> None:
    planned = run("diff", "-f", str(FLEET))
    assert (planned.code, planned.out.splitlines()[0]) == (0, "+ datacenter/dc-east")
    applied = run("apply", "-f", str(FLEET), "--reason", "test")
    assert applied.code == 0
    assert applied.err == "generation 1 is in force\n"
    exported = run("export")
    copy = tmp_path / "copy.yaml"
    copy.write_text(exported.out, encoding="utf-8")
    again = run("diff", "-f", str(copy))
    assert (again.code, again.out, again.err) == (0, "", "no difference\n")
    assert json.loads(run("diff", "-f", str(copy), "--json").out)["changes"] == []
    assert json.loads(run("export", "--json").out)["services"][0]["name"] == "tickets"


def test_a_change_shows_before_and_after(run: Run, tmp_path: Path) -> None:
    run("apply", "-f", str(FLEET))
    changed = tmp_path / "changed.yaml"
    text = FLEET.read_text(encoding="utf-8").replace("strategy: hybrid", "strategy: static")
    changed.write_text(text, encoding="utf-8")
    lines = run("diff", "-f", str(changed)).out.splitlines()
    assert lines == ["~ service/tickets", '    strategy: "hybrid" -> "static"']


def test_every_error_of_a_file_has_its_place(run: Run, tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    text = FLEET.read_text(encoding="utf-8").replace("hybrid", "magic").replace("9101", "x")
    broken.write_text(text, encoding="utf-8")
    done = run("apply", "-f", str(broken))
    assert (done.code, done.out) == (2, "")
    places = [line.split(": ")[0] for line in done.err.splitlines()[1:]]
    numbers = [
        n for n, line in enumerate(text.splitlines(), 1) if "magic" in line or ": x}" in line
    ]
    assert len(numbers) == 2
    assert [place.rpartition(":")[0].strip() for place in places] == [
        f"{broken}:{number}" for number in numbers
    ]


def test_a_late_writer_conflicts_and_mass_removal_is_refused(run: Run, tmp_path: Path) -> None:
    run("apply", "-f", str(FLEET))
    assert run("apply", "-f", str(FLEET), "--generation", "7").code == 4
    empty = tmp_path / "empty.yaml"
    empty.write_text("datacenters: [{name: dc-east, role: primary, region: east}]\n", "utf-8")
    told = run("diff", "-f", str(empty))
    assert (told.code, "refuse this unless forced" in told.err) == (0, True)
    refused = run("apply", "-f", str(empty))
    assert refused.code == 5
    assert "force" in refused.err
    assert run("apply", "-f", str(empty), "--force").code == 0


def test_traffic(server: Server, run: Run) -> None:
    server.do(server.house.declare())
    status = run("status")
    assert status.code == 0
    assert "beijing-1" in status.out
    assert "edge-2 is not up to date: it refuses rds: duplicate domain" in status.out
    whole = json.loads(run("status", "--json").out)
    assert whole["revision"] == 1
    assert [s["name"] for s in whole["services"]] == ["tickets"]
    assert "beijing-2" in run("weights").out
    sets = json.loads(run("weights", "--json").out)["weights"]
    assert sum(sets[0]["weights"].values()) == 10_000
    assert "/tickets" in run("routes", "list").out
    assert json.loads(run("routes", "list", "--json").out)["items"][0]["id"] == "tickets-all"


def test_watch_ends_after_so_many_events(server: Server, run: Run) -> None:
    server.do(server.house.declare())
    assert run("watch", "--events", "1").out.startswith("snapshot   revision=1 version=")
    event = json.loads(run("watch", "--events", "1", "--json").out)
    assert (event["event"], event["id"], event["data"]["revision"]) == ("snapshot", "1", 1)


def test_a_decision_shows_its_interval_and_its_shift(server: Server, run: Run) -> None:
    decision = decided(law_model(residual_spread=0.02))
    shift = Dither(block=7, offset=0.02, propensity=0.25, anchor=(0.5, 0.5), shares=(0.52, 0.48))
    shifted = replace(decision, state=replace(decision.state, dither=shift))
    server.do(server.house.decisions.record([shifted]))
    shown = run("decisions", "show", decision.id)
    assert re.search(r"^expected: +[0-9.]+ to [0-9.]+ ms \(90% of the time\)$", shown.out, re.M)
    assert "+0.020 in block 7, drawn with probability 0.25" in shown.out


def test_samples_and_decisions(server: Server, run: Run, tmp_path: Path) -> None:
    server.do(server.house.declare())
    file = tmp_path / "samples.csv"
    file.write_text(
        "service,datacenter,response_time_ms,request_rate_rps,cpu_avg\n"
        "tickets,beijing-1,20,40,0.5\ntickets,beijing-2,30,25,0.5\ntickets,mars,30,25,0.5\n",
        "utf-8",
    )
    sent = run("samples", "send", "-f", str(file))
    assert sent.code == 2
    assert sent.err.splitlines()[0] == "2 of 3 samples accepted"
    assert "sample 2, datacenter:" in sent.err
    assert json.loads(run("samples", "send", "-f", str(file), "--json").out)["accepted"] == 2

    server.do(server.house.tick())
    (decision,) = json.loads(run("decisions", "list", "--json").out)
    assert decision["service"] == "tickets"
    assert decision["id"] in run("decisions", "list").out
    shown = run("decisions", "show", decision["id"])
    assert shown.code == 0
    assert "strategy: capacity" in shown.out
    assert "beijing-1" in shown.out
    assert json.loads(run("decisions", "show", decision["id"], "--json").out)["samples"]
    assert run("decisions", "show", "tickets@0").code == 3
    told = run("decisions", "explain", decision["id"])
    assert told.code == 0
    assert "let it pass" in told.out
    again = run("replay", decision["id"])
    assert (again.code, "identical" in again.out) == (0, True)
    (newest,) = json.loads(run("replay", "--limit", "1", "--recorded", "--json").out)
    assert (newest["id"], newest["origin"]) == (decision["id"], "record")
    assert run("replay", "tickets@0").code == 3


def test_tokens(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = run("token", "create", "edge-1", "--role", "gateway", "--days", "30", "--node", "e1")
    assert made.code == 0
    secret = made.out.strip()
    assert secret.startswith("sbx_")
    assert secret not in made.err
    tokens = json.loads(run("token", "list", "--json").out)
    (token,) = [t for t in tokens if t["name"] == "edge-1"]
    assert (token["node"], token["role"]) == ("e1", "gateway")
    listed = run("token", "list").out
    assert token["id"] in listed
    assert secret not in listed

    file = tmp_path / "token"
    file.write_text(f"{secret}\n", "utf-8")
    assert run("--token-file", str(file), "token", "list").code == 5
    assert run("token", "revoke", token["id"], "--reason", "test").code == 0
    assert "token.revoke" in run("audit").out
    assert json.loads(run("audit", "--limit", "1", "--json").out)[0]["action"] == "token.revoke"
    assert run("token", "revoke", "nothing").code == 3
    created = json.loads(run("token", "create", "x", "--role", "viewer", "--json").out)
    assert created["secret"].startswith("sbx_")


@pytest.mark.parametrize(
    "words",
    [
        ("findings", "show"),
        ("findings", "force", "--reason", "x"),
        ("decisions", "show"),
        ("decisions", "explain"),
        ("jobs", "show"),
        ("jobs", "cancel"),
        ("token", "revoke"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("name", ["../fleet", "a/b", "x?limit=1", "x#y", "%"])
def test_an_id_is_one_name_whatever_is_in_it(
    server: Server, run: Run, words: tuple[str, ...], name: str
) -> None:
    server.do(server.house.declare())
    done = run(*words, name)
    assert (done.code, done.out) == (3, "")


@pytest.mark.parametrize(
    "group",
    ["decisions", "envoy", "findings", "jobs", "models", "routes", "samples", "token"],
)
def test_a_group_without_a_command_shows_its_commands(offline: Run, group: str) -> None:
    done = offline(group)
    assert "Commands:" in done.out + done.err


def test_no_models_yet(server: Server, run: Run) -> None:
    server.do(server.house.declare())
    assert json.loads(run("models", "list", "--json").out) == []
    assert run("models", "promote", "tickets", "0123456789").code == 3
    assert run("models", "train", "unknown").code == 3


def test_without_a_server_it_can_be_tried_again(offline: Run, tmp_path: Path) -> None:
    done = offline("status")
    assert (done.code, done.out) == (6, "")
    assert "signalbox serve" in done.err
    assert offline("--token-file", str(tmp_path / "none"), "status").code == 2
    assert offline("apply", "-f", str(tmp_path / "none.yaml")).code == 3
    assert offline("nonsense").code == 2


def test_envoy_bootstrap_needs_no_server(
    server: Server, offline: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = server.house.secrets[AccessRole.GATEWAY]
    monkeypatch.setenv("SIGNALBOX_TOKEN", secret)
    done = offline("envoy", "bootstrap", "--node", "e1", "--group", "edge", "--agent", "")
    assert done.code == 0
    assert f"Bearer {secret}" in done.out
    assert offline("envoy", "bootstrap", "--node", "e", "--group", "g", "--ads", "x").code == 2


def test_help_is_quick_and_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom controlplane.cli import app\n"
        "print(' '.join(m for m in ('httpx','fastapi','numpy','pydantic','grpc','rich.table')"
        " if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_the_builders_fit_the_example(run: Run) -> None:
    """The commands above read both fleets; the example stays a fleet of two centres."""
    run("apply", "-f", str(FLEET))
    assert len(json.loads(run("export", "--json").out)["datacenters"]) == len(
        builders.fleet().datacenters
    )


@pytest.mark.parametrize("command", [("apply", "-f"), ("samples", "send", "-f")])
def test_a_file_that_is_no_text_is_named(
    run: Run, tmp_path: Path, command: tuple[str, ...]
) -> None:
    odd = tmp_path / "odd.yaml"
    odd.write_bytes(b"caf\xe9")
    done = run(*command, str(odd))
    assert (done.code, done.out) == (2, "")
    assert "odd.yaml is not UTF-8" in done.err


@pytest.mark.parametrize("url", ["", "nowhere", "ftp://x", "http://", "http://[::1", "http://h:x"])
def test_an_address_that_is_none_is_the_callers_to_correct(offline: Run, url: str) -> None:
    done = offline("--url", url, "status")
    assert (done.code, done.out) == (2, "")
    assert "[option_invalid]" in done.err


@pytest.mark.parametrize("token", ["two\nlines", "t\u00f6k", "a b"])
def test_a_token_that_no_header_carries_is_not_shown(
    offline: Run, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setenv("SIGNALBOX_TOKEN", token)
    done = offline("status")
    assert done.code == 2
    assert token not in done.err


def test_a_token_file_that_is_no_text(offline: Run, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_bytes(b"\xff")
    done = offline("--token-file", str(file), "status")
    assert done.code == 2
    assert "not UTF-8" in done.err


def test_a_token_cannot_last_longer_than_time(offline: Run) -> None:
    assert offline("token", "create", "x", "--role", "viewer", "--days", "1e300").code == 2


def test_a_report_without_a_folder_is_refused_before_the_demo(offline: Run, tmp_path: Path) -> None:
    done = offline("demo", "--json", str(tmp_path / "none" / "x.json"))
    assert done.code == 2
    assert "there is no folder" in done.err
