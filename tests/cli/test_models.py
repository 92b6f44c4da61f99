"""Commands about models, but training."""

import json

from tests.builders import OPERATOR
from tests.cli.conftest import Run, Server


def test_promotions_and_the_way_back(server: Server, run: Run) -> None:
    server.do(server.house.declare())
    none = run("models", "rollback", "tickets")
    assert none.code == 4
    assert "[no_earlier_champion]" in none.err
    for digest in ("m1-abcdef", "m2-abcdef"):
        data = f"tickets:{digest}".encode()
        server.do(server.house.models.enroll(data, OPERATOR, "trained"))
        promoted = run("models", "promote", "tickets", digest[:6], "--reason", "better")
        assert promoted.code == 0
    listed = run("models", "list").out
    assert "champion" in listed
    back = run("models", "rollback", "tickets", "--reason", "slow", "--json")
    assert json.loads(back.out)["digest"] == "m1-abcdef"
    assert back.err == "model m1-abcdef decides for tickets again\n"
    log = run("models", "promotions", "tickets").out.splitlines()
    assert log[0].split() == ["TIME", "EVENT", "MODEL", "BEFORE", "AUTHOR", "REASON"]
    assert [line.split()[2] for line in log[1:]] == [
        "rolled-back",
        "promoted",
        "enrolled",
        "promoted",
        "enrolled",
    ]
    newest = json.loads(run("models", "promotions", "tickets", "--limit", "1", "--json").out)
    assert [(s["event"], s["before"], s["reason"]) for s in newest] == [
        ("rolled-back", "m2-abcdef", "slow")
    ]
    assert run("models", "promotions", "other").code == 3


def test_status_tells_the_rung(server: Server, run: Run) -> None:
    server.do(server.house.declare())
    assert "RUNG" in run("status").out
    (service,) = json.loads(run("status", "--json").out)["services"]
    assert service["ladder"]["rung"] == "rule"
