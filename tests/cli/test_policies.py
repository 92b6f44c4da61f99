"""`signalbox policies ...`: declared, tried, enforced, gone."""

import json
from pathlib import Path

import pytest

from controlplane.cli.commands.policies import _plain
from controlplane.domain.access import AccessRole
from tests.cli.conftest import Done, Run, Server
from tests.cli.test_commands import FLEET


@pytest.fixture
def declared(run: Run, server: Server, tmp_path: Path) -> Run:
    assert run("apply", "-f", str(FLEET)).code == 0
    file = tmp_path / "edge.yaml"
    file.write_text("mode: observe\nprotection: {most_body_bytes: 10, most_headers: 20}\n", "utf-8")
    done = run("policies", "write", "edge", "-f", str(file), "--reason", "try")
    assert done.code == 0, done.err
    server.do(server.house.tick())
    return run


def said(done: Done) -> list[str]:
    """What a command printed, one space between words."""
    return [" ".join(line.split()) for line in done.out.splitlines()]


def test_a_policy_from_observing_to_gone(declared: Run, server: Server) -> None:
    heads, row = said(declared("policies", "list"))
    assert heads == "NAME KIND MODE ROUTES SERVICES REGIONS"
    assert row == "edge protection observe * * *"
    done = declared("policies", "mode", "edge", "enforce", "--reason", "seen")
    assert done.err == "policy edge: enforce\n"
    document = json.loads(declared("policies", "show", "edge").out)["document"]
    assert document["protection"] == {"most_body_bytes": 10, "most_headers": 20}
    assert json.loads(declared("policies", "list", "--json").out)[0]["mode"] == "enforce"
    assert declared("policies", "remove", "edge", "--reason", "over").err == "policy edge is gone\n"
    assert declared("policies", "show", "edge").code == 3
    log = [(one.action, one.reason) for one in server.house.audit.entries]
    assert log[-3:] == [
        ("policy.write", "try"),
        ("policy.enforce", "seen"),
        ("policy.remove", "over"),
    ]


def test_a_dry_run_shows_who_says_what(declared: Run, server: Server, tmp_path: Path) -> None:
    state = tmp_path / "state.yaml"
    state.write_text("edge: {body_bytes: 11}\n", "utf-8")
    url = "http://shop.example/cart?x=1"
    call = ("policies", "decide", "--url", url, "--header", "a=b", "--state", str(state))
    lines = said(declared(*call))
    assert "verdict: admit" in lines
    assert lines[-2] == "POLICY KIND MODE EFFECT VERDICT REASON DETAILS"
    as_curl = [each if each != "a=b" else "a: b" for each in call]
    assert said(declared(*as_curl)) == lines
    assert lines[-1] == (
        "edge protection observe observes refuse body_too_large bytes 11, limit 10"
    )
    assert declared("policies", "mode", "edge", "enforce").code == 0
    server.do(server.house.tick())
    lines = said(declared(*call))
    told = {"verdict: refuse", "because: body_too_large", "policy: edge", "status: 413"}
    assert told < set(lines)
    answer = json.loads(declared(*call, "--json").out)
    assert answer["decision"]["details"] == {"bytes": 11, "limit": 10}
    refused = declared("policies", "decide", "--url", "/a%2fb")
    assert "because: the path has an escaped slash or backslash" in said(refused)
    assert declared("policies", "decide", "--url", "shop").code == 2


def test_a_dry_run_takes_a_file_that_is_not_published(declared: Run, tmp_path: Path) -> None:
    file = tmp_path / "draft.yaml"
    file.write_text("policies:\n- {name: new, protection: {blocked_methods: [GET]}}\n", "utf-8")
    lines = said(declared("policies", "decide", "--url", "/cart", "-f", str(file)))
    assert "policy: new" in lines
    assert "new" not in declared("policies", "list").out


def test_a_policy_that_is_held_is_called_one(declared: Run, tmp_path: Path) -> None:
    file = tmp_path / "fleet.yaml"
    queue = "policies: [{name: edge.waiting, session_queue: {}}]\n"
    file.write_text(FLEET.read_text("utf-8") + queue, "utf-8")
    done = declared("apply", "-f", str(file), "--force")
    assert "held as it was: policy/edge.waiting: the name" in done.err


def test_details_are_told_as_a_person_reads_them() -> None:
    values = (124538450.16274953, 0.1 + 0.2, ["fast", "tool"], [], 3, "x")
    assert list(map(_plain, values)) == ["124538450.2", "0.3", "fast tool", "-", "3", "x"]


def test_presets_and_reports_are_listed(declared: Run, server: Server) -> None:
    rows = said(declared("policies", "presets"))
    assert any(row.startswith("strict_edge protection") for row in rows)
    presets = json.loads(declared("policies", "presets", "--json").out)
    assert "protection" in next(one for one in presets if one["name"] == "strict_edge")["document"]
    assert said(declared("policies", "reports")) == ["GATEWAY GROUP UP TO DATE NOT ENFORCED HEARD"]

    async def report() -> None:
        async with server.house.client(AccessRole.GATEWAY) as client:
            client.headers["X-Signalbox-Gateway"] = "edge-1;edge"
            told = {"version": "0" * 64, "unreadable": [{"policy": "edge", "reason": "old"}]}
            assert (await client.post("/v1/policies:report", json=told)).is_success

    server.do(report())
    assert said(declared("policies", "reports"))[1].startswith("edge-1 edge no edge ")
    assert json.loads(declared("policies", "reports", "--json").out)[0]["up_to_date"] is False
