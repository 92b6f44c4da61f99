"""Commands about models, but training."""

import dataclasses
import json
from pathlib import Path

import pytest

from controlplane.domain.strategies.situation import LearnedModel
from models.artifact import canonical
from models.reports.sheet import sheet
from tests.builders import OPERATOR
from tests.cli.conftest import Run, Server
from tests.fakes.stores import MemoryModelRegistry
from tests.model_artifacts import artifact
from tests.model_reports import report


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


def test_what_failed_its_examination_needs_force(
    server: Server, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def by_digest(_store: MemoryModelRegistry, digest: str) -> LearnedModel:
        return LearnedModel(digest=digest, objection="label_follows: shuffled")

    monkeypatch.setattr(MemoryModelRegistry, "by_digest", by_digest)
    server.do(server.house.declare())
    server.do(server.house.models.enroll(b"tickets:m1-abcdef", OPERATOR, "trained"))
    word = ("models", "promote", "tickets", "m1-abc", "--reason", "I know")
    refused = run(*word)
    assert refused.code == 5
    assert "label_follows: shuffled" in refused.err
    assert "[examination_failed]" in refused.err
    assert run(*word, "--force").code == 0
    log = run("models", "promotions", "tickets", "--json").out
    assert "forced: I know" in log


def test_status_tells_the_rung(server: Server, run: Run) -> None:
    server.do(server.house.declare())
    assert "RUNG" in run("status").out
    (service,) = json.loads(run("status", "--json").out)["services"]
    assert service["ladder"]["rung"] == "rule"


def test_reports_cards_and_comparisons(server: Server, run: Run, tmp_path: Path) -> None:
    server.do(server.house.declare())
    for seed, digest in enumerate(("m1-abcdef", "m2-abcdef"), 1):
        server.do(server.house.models.enroll(f"tickets:{digest}".encode(), OPERATOR, "trained"))
        model = artifact(seed=seed)
        measured = dataclasses.replace(report(model), model=digest)
        shown = sheet(model, measured if seed == 1 else None)
        server.house.sheets.sheets[digest] = canonical(shown).decode()
    table = run("models", "report", "m1-abc").out.splitlines()
    assert table[0].split()[:3] == ["STRATEGY", "LOAD", "ROWS"]
    assert table[1].split() == [
        "hybrid",
        "all",
        "10",
        "1.5",
        "-0.2",
        "3",
        "4",
        "0.900",
        "90.0",
        "%",
    ]
    bare = run("models", "report", "m2-abc")
    assert "validation_mae_ms:" in bare.out
    assert "without a report" in bare.err
    assert json.loads(run("models", "report", "m1-abc", "--json").out)["models"][0]["aliases"] == []
    page = tmp_path / "report.html"
    assert run("models", "report", "m1-abc", "--out", str(page)).code == 0
    assert "SignalboxReport.show" in page.read_text(encoding="utf-8")
    refused = run("models", "report", "m1-abc", "--out", str(tmp_path / "no" / "report.html"))
    assert (refused.code, "[out_unwritable]" in refused.err) == (2, True)
    assert run("models", "card", "m1-abc").out.startswith("# Model card: tickets")
    assert json.loads(run("models", "card", "m1-abc", "--json").out)["digest"] == "m1-abcdef"
    lines = run("models", "compare", "m1-abc", "m2-abc").out.splitlines()
    assert [line.split() for line in lines[:2]] == [
        ["GROUP", "NAME", "FIRST", "SECOND", "CHANGE"],
        ["provenance", "seed", "1", "2", "-"],
    ]
    assert len(run("models", "compare", "m1-abc", "m2-abc", "--all").out.splitlines()) > len(lines)
    content = run("models", "compare", "m1-abc", "m2-abc", "--json").out
    assert len(json.loads(content)["models"]) == 2
    assert run("models", "compare", "m1-abc", "m2-abc", "--out", str(page)).code == 0
    assert run("models", "card", "none-at-all").code == 3
