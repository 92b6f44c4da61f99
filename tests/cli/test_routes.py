"""`signalbox routes ...`: a route's life, and which route a request gets."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Done, Run, Server
from tests.cli.test_commands import FLEET


@pytest.fixture
def declared(run: Run, server: Server) -> Run:
    assert run("apply", "-f", str(FLEET)).code == 0
    server.do(server.house.tick())
    return run


def said(done: Done) -> str:
    """What a command printed, one space between words."""
    return "\n".join(" ".join(line.split()) for line in done.out.splitlines())


def write(run: Run, folder: Path, text: str, *more: str) -> None:
    file = folder / "route.yaml"
    file.write_text(text, encoding="utf-8")
    done = run("routes", "write", "v2", "-f", str(file), *more)
    assert done.code == 0, done.err


V2 = "service: tickets\npath: {value: /api/v2}\nmethods: [GET]\n"


def test_a_route_from_draft_to_retired(declared: Run, server: Server, tmp_path: Path) -> None:
    write(declared, tmp_path, V2, "--reason", "new")
    heads, row = said(declared("routes", "list", "--life", "draft")).splitlines()
    assert heads == "ID LIFE HOSTS METHODS MATCH PATH ACTION ASKS GRAY"
    assert row == "v2 draft * GET PathPrefix /api/v2 tickets - -"
    assert len(declared("routes", "list", "--contains", "API/v2").out.splitlines()) == 2
    done = declared("routes", "diff", "v2").out.splitlines()
    assert '+ service: "tickets"' in done
    assert declared("routes", "diff", "v2").err == "the whole route is new\n"
    gray = declared("routes", "gray", "v2", "--steps", "5%:60,20%")
    assert "gray: user 5.0 % (1 of 2)" in said(gray)
    assert "user 20.0 % (2 of 2)" in declared("routes", "step", "v2").out
    assert "user 5.0 % (1 of 2)" in declared("routes", "step", "v2", "--step", "1").out
    assert "user 5.0 % (1 of 2), wait" in declared("routes", "list").out
    assert "life: draft" in said(declared("routes", "stop", "v2"))
    assert "life: full" in said(declared("routes", "publish", "v2", "--reason", "go"))
    assert declared("routes", "diff", "v2").err == "no difference\n"
    history = declared("routes", "history", "v2").out.splitlines()
    assert [row.split()[4] for row in history[1:]] == ["publish", "gray"]
    number = history[1].split()[0]
    changed = declared("routes", "diff", "v2", "--revision", number, "--json").out
    assert json.loads(changed)["before"] is None
    assert declared("routes", "diff", "v2", "--revision", "9999").code == 3
    assert "author" not in declared("routes", "show", "v2").out
    assert "life: retired" in said(declared("routes", "retire", "v2"))
    assert '"/api/v2"' in declared("routes", "show", "v2").out
    assert "life: full" in said(declared("routes", "publish", "v2"))
    declared("routes", "retire", "v2")
    number = declared("routes", "history", "v2").out.splitlines()[1].split()[0]
    gone = declared("routes", "diff", "v2", "--revision", number)
    assert (gone.err, gone.out[:2]) == ("the whole route is gone\n", "- ")
    dropped = declared("routes", "discard", "v2")
    assert (dropped.out, dropped.err) == ("", "nothing is kept of route v2\n")
    assert declared("routes", "show", "v2").code == 3
    assert json.loads(declared("routes", "history", "--json").out)[0]["event"] == "retire"


def test_rollbacks(declared: Run, server: Server, tmp_path: Path) -> None:
    write(declared, tmp_path, V2, "--publish")
    write(declared, tmp_path, V2.replace("GET", "PUT"), "--publish")
    done = json.loads(declared("routes", "rollback", "v2", "--json").out)
    assert done["route"]["published"]["methods"] == ["GET"]
    done = declared("routes", "rollback", "--generation", "1", "--force", "--reason", "undo")
    assert (done.out, done.code) == ("remove route/v2\n", 0)
    assert "is in force" in done.err
    assert json.loads(
        declared("routes", "rollback", "--generation", "1", "--force", "--json").out
    ) == {"generation": 7, "changes": []}
    for wrong in ([], ["v2", "--generation", "1"]):
        assert declared("routes", "rollback", *wrong).code == 2


def test_conflicts_are_said_beside_the_answer(declared: Run, tmp_path: Path) -> None:
    text = "service: tickets\npath: {value: /api/tickets}\npriority: 1\n"
    file = tmp_path / "route.yaml"
    file.write_text(text, encoding="utf-8")
    done = declared("routes", "write", "v2", "-f", str(file))
    assert done.err == ("note: route v2 takes every request of route tickets-api\n")
    file.write_text("service: none\n", encoding="utf-8")
    done = declared("routes", "write", "v2", "-f", str(file))
    assert done.code == 2
    assert f"{file}:1:10" in done.err


def test_a_file_with_a_failing_check_says_what_is_held(declared: Run, tmp_path: Path) -> None:
    text = FLEET.read_text(encoding="utf-8")
    file = tmp_path / "fleet.yaml"
    bad = "id: everything-else\n    checks: [{path: /search}]"
    file.write_text(text.replace("id: everything-else", bad), encoding="utf-8")
    done = declared("apply", "-f", str(file))
    assert done.code == 5
    assert (
        "held as it was: route everything-else: check of route everything-else: GET "
        "localhost/search must get route everything-else, and gets route tickets-search"
    ) in done.err


@pytest.mark.parametrize("steps", ["5", "5%:soon", "x%", "edge"])
def test_steps_that_cannot_be_read(declared: Run, steps: str) -> None:
    done = declared("routes", "gray", "v2", "--steps", steps)
    assert done.code == 2
    assert "--steps has" in done.err


def test_gray_by_header_and_by_gateways(declared: Run, tmp_path: Path) -> None:
    write(declared, tmp_path, V2)
    done = declared("routes", "gray", "v2", "--by", "header", "--header", "x-canary=1", "--json")
    assert json.loads(done.out)["route"]["gray"]["header"] == {"name": "x-canary", "value": "1"}
    declared("routes", "stop", "v2")
    group = json.loads(declared("export", "--json").out)["gateways"][0]["name"]
    done = declared("routes", "gray", "v2", "--by", "gateways", "--steps", f"{group}:60")
    assert f"gateways {group} (1 of 1)" in done.out
    assert declared("routes", "gray", "v2", "--header", "x").code == 2


def test_a_match_in_words(declared: Run, tmp_path: Path) -> None:
    write(declared, tmp_path, V2)
    found = declared("routes", "match", "http://shop.example/api/v2?x=1", "--draft", "v2")
    assert said(found).splitlines()[:6] == [
        "path: /api/v2",
        "route: v2",
        "service: tickets",
        "because: its prefix is the longest whose conditions hold",
        "host rule: *",
        "next: everything-else",
    ]
    assert "2 more routes do not match" in found.err
    put = declared("routes", "match", "/api/v2", "--draft", "v2", "--method", "put")
    assert "route: everything-else" in said(put)
    assert "method" in put.out
    done = declared("routes", "match", "/a%2fb", "--header", "X-A=b", "--json")
    assert json.loads(done.out)["status"] == 400
    for wrong in ("shop.example/x", "http://[x/"):
        assert declared("routes", "match", wrong).code == 2


@pytest.mark.parametrize(
    ("key", "time", "shown"),
    [
        ("valid_from", "2901-01-01", "not before"),
        ("valid_until", "2901-01-01", "until"),
        ("valid_until", "2001-01-01", "over since"),
    ],
)
def test_a_list_says_when_a_route_begins_or_is_over(
    declared: Run, tmp_path: Path, key: str, time: str, shown: str
) -> None:
    write(declared, tmp_path, f"service: tickets\n{key}: {time}T12:00:00Z\n")
    assert f"tickets {shown} {time}" in said(declared("routes", "list", "--life", "draft"))
