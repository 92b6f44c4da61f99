"""The commands of an emergency, and `signalbox intents`."""

import json

import pytest

from tests.builders import sample
from tests.cli.conftest import Run, Server


@pytest.fixture
def declared(server: Server, run: Run) -> Run:
    server.do(server.house.declare())
    now_s = server.house.clock.now()
    for center in ("beijing-1", "beijing-2"):
        one = sample(center, now_s, request_rate_rps=20.0, connections=10.0)
        server.do(server.house.intake.accept([one]))
    return run


def test_a_failover_is_forecast_made_shown_and_taken_back(declared: Run) -> None:
    told = declared("failover", "beijing-1", "--dry-run").out
    assert "verdict: go" in told
    assert "beijing-1" in told
    made = json.loads(declared("failover", "beijing-1", "--reason", "night", "--json").out)
    assert (made["kind"], made["reason"], made["author"]) == ("failover", "night", "the-admin")
    listed = declared("intents", "list").out
    assert made["id"] in listed
    shown = declared("intents", "show", made["id"])
    assert "gateways have it" in shown.out
    assert f"signalbox intents undo {made['id']}" in shown.err
    again = declared("failover", "beijing-1")
    assert (again.code, "intent_exists" in again.err) == (4, True)
    undone = json.loads(declared("intents", "undo", made["id"], "--return-over", "0", "--json").out)
    assert (undone["state"], undone["ending"]) == ("returning", "undone")
    assert json.loads(declared("intents", "list", "--all", "--json").out)[0]["id"] == made["id"]


def test_a_dry_run_without_samples_says_that_room_is_not_judged(server: Server, run: Run) -> None:
    server.do(server.house.declare())
    told = run("failover", "beijing-1", "--dry-run").out
    assert "load not known, room not judged: tickets (no fresh samples)" in told


def test_refusals_say_what_forces_them(declared: Run) -> None:
    assert declared("failover", "beijing-1").code == 0
    refused = declared("failover", "beijing-2")
    assert refused.code == 5
    assert "last_serving_datacenter" in refused.err
    assert "--force" in refused.err
    told = declared("failover", "beijing-2", "--dry-run").out
    assert told.startswith("refused: ")
    assert declared("failover", "beijing-2", "--force").code == 0
    assert declared("restore", "beijing-2", "--over", "0").code == 0


def test_a_dry_run_of_a_rate_says_how_much_passes(declared: Run) -> None:
    done = declared("preset", "rate_limit", "tickets", "--rate", "12.5", "--dry-run")
    assert (done.code, done.out.splitlines()[0]) == (0, "verdict: go")
    assert "state:" not in done.out


@pytest.mark.parametrize(
    "words",
    [
        ("drain", "beijing-1", "--over", "5", "--for", "60", "--return-over", "5"),
        ("failover", "beijing-1", "--service", "tickets", "--endpoint", "127.0.0.1:9001"),
        ("pin", "tickets", "beijing-1=1", "beijing-2=3"),
        ("freeze", "--service", "tickets"),
        ("preset", "circuit_break", "tickets", "--concurrent", "5", "--waiting", "1"),
        ("preset", "rate_limit", "tickets", "--rate", "12.5"),
        ("preset", "waiting_room", "tickets", "--concurrent", "50"),
        ("preset", "block", "tickets", "--status", "403"),
        ("rollback", "1"),
    ],
)
def test_every_kind_has_its_command(declared: Run, words: tuple[str, ...]) -> None:
    done = declared(*words)
    assert done.code == 0, done.err
    assert "state:" in done.out
    if words[0] == "preset":
        (told,) = [line for line in done.out.splitlines() if line.startswith("preset:")]
        # A person sees what was asked for, with its number.
        assert words[1] in told
        assert words[4] in told


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("pin", "tickets", "beijing-1"), 2),
        (("pin", "tickets", "beijing-1=x"), 2),
        (("preset", "magic", "tickets"), 2),
        (("preset", "rate_limit", "tickets"), 2),
        (("pin", "tickets", "beijing-1=inf"), 2),
        (("failover", "mars"), 3),
        (("rollback", "99"), 3),
        (("intents", "show", "nothing-1"), 3),
        (("restore", "beijing-1"), 4),
    ],
)
def test_what_cannot_be_is_told(declared: Run, words: tuple[str, ...], code: int) -> None:
    assert declared(*words).code == code
