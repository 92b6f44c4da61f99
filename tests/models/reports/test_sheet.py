"""What is shown of a version, with and without a report; the card; two versions compared."""

import dataclasses
import json
import re

import numpy as np
import pytest

from models.artifact import canonical
from models.examination import Check
from models.reports import document
from models.reports.card import card, markdown
from models.reports.comparison import compare
from models.reports.report import DECIDERS
from models.reports.sheet import MOST_EPOCHS, NO_REPORT, NO_REPORT_OF_MANY, sheet
from tests.model_artifacts import LAW, artifact
from tests.model_reports import report

MODEL = artifact()
FULL = sheet(MODEL, report(MODEL))
BARE = sheet(MODEL, None)


def test_a_sheet_is_json_and_says_what_is_missing() -> None:
    assert json.loads(canonical(FULL))["report"]["decides"] == "hybrid"
    assert FULL["missing"] == []
    assert BARE["missing"] == [NO_REPORT]
    assert sheet(MODEL, None, ("it is damaged",))["missing"] == ["it is damaged"]
    assert FULL["losses"]["mlp"]["epoch"] == [1, 2]


def test_a_long_loss_curve_is_thinned_and_keeps_its_ends() -> None:
    long = dataclasses.replace(MODEL, losses={"mlp": np.arange(2_002.0).reshape(2, 1_001)})
    shown = sheet(long, None)["losses"]["mlp"]
    assert len(shown["epoch"]) <= MOST_EPOCHS
    assert (shown["epoch"][0], shown["epoch"][-1]) == (1, 1_001)
    assert shown["validation"][-1] == 2_001.0


@pytest.mark.parametrize("shown", [FULL, BARE])
def test_a_card_has_every_section(shown: dict[str, object]) -> None:
    text = markdown(shown)
    titles = ["Purpose", "Data", "How it was made", "Queue laws", "Scores", "Intervals"]
    titles += ["Examination", "Limits", "Promotion and the way back"]
    found = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert [one.removesuffix(" on held-out rows") for one in found] == titles
    assert MODEL.digest in text
    assert f"signalbox models promote tickets {MODEL.digest[:12]}" in text
    assert ("| hybrid | peak |" in text) == (shown is FULL)
    assert ("primary_memory (25.0%)" in text) == (shown is FULL)


@pytest.mark.parametrize("time_s", [1e300, -1e18, 1.7e12])
def test_a_time_that_no_calendar_has_is_a_number_in_the_card(time_s: float) -> None:
    plain = report(MODEL)
    odd = dataclasses.replace(plain, data=dataclasses.replace(plain.data, last_s=time_s))
    assert f"{time_s:g} s" in markdown(sheet(MODEL, odd))


@pytest.mark.parametrize("name", DECIDERS)
def test_a_card_has_a_sentence_for_each_strategy_that_may_decide(name: str) -> None:
    shown = markdown(sheet(MODEL, dataclasses.replace(report(MODEL), decides=name)))
    assert "deciding where the service's strategy asks for it: " in shown


def test_a_card_says_what_failed_and_what_is_not_trusted() -> None:
    check = Check(code="units", passed=False, figure=950.0, limit=3.0, message="a|b jumped")
    bad = dataclasses.replace(
        MODEL,
        residuals=(),
        examination=(check, dataclasses.replace(check, code="order", passed=True)),
        primary=dataclasses.replace(LAW, trusted=False, reason="too few rows"),
        scores={"residual_spread": 0.05},
        environment={"numpy": "2"},
    )
    text = markdown(sheet(bad, None))
    assert "| units | failed | 950 | 3 | a/b jumped |" in text
    assert "not put into the shadow" in text
    assert "Not trusted: primary: too few rows." in text
    assert "fall back to a rule" in text
    assert "Residual spread, frozen with the version: 5.00%." in text
    good = dataclasses.replace(bad, examination=bad.examination[1:])
    assert "It passed every check." in markdown(sheet(good, None))


def test_a_version_of_many_centers_has_a_law_for_each() -> None:
    many = dataclasses.replace(
        MODEL, mlp=None, residuals=(), losses={}, centers=("a", "b", "c"), others=(LAW,)
    )
    shown = sheet(many, None)
    assert list(shown["laws"]) == ["a", "b", "c"]
    assert shown["missing"] == [NO_REPORT_OF_MANY]
    assert "between 3 data centers" in markdown(shown)


def test_a_comparison_names_what_differs() -> None:
    other = artifact(seed=2)
    checked = dataclasses.replace(
        other, examination=(Check(code="units", passed=True, figure=1.0, limit=3.0, message=""),)
    )
    lines = compare(FULL, sheet(checked, report(checked, shift_ms=1.5)))
    found = {(line.group, line.name): line for line in lines}
    assert found["provenance", "seed"].after == 2
    assert not found["provenance", "seed"].same
    assert found["provenance", "rows"].same
    assert found["bands", "hybrid all mae_ms"].change_pct == 100.0
    assert found["choices", "paper_mlp low ratio"].same
    assert found["bands", "hybrid peak r2"].change_pct is None
    assert (found["examination", "units"].before, found["examination", "units"].after) == (
        None,
        "passed at 1",
    )
    without = {(line.group, line.name): line for line in compare(FULL, sheet(other, None))}
    assert without["settings", "mlp.epochs"].after is None


def test_a_page_holds_all_that_it_needs_and_no_text_can_leave_its_place() -> None:
    evil = dataclasses.replace(MODEL, service="</script><script>alert(1)</script>")
    page = document.page("a < b", document.of_one(sheet(evil, None)))
    assert "<title>a &lt; b</title>" in page
    assert "</script><script>alert" not in page
    assert not re.search(r"<(script|link)[^>]+(src|href)=[\"'](?!data:)", page)
    content = re.search(r'<script id="content"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert content is not None
    assert json.loads(content.group(1))["models"][0]["model"]["service"] == evil.service
    assert len(card(BARE)) == len(json.loads(content.group(1))["card"])
