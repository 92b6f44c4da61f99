"""The HTML report needs no network and leaves nobody out."""

import json
import re
from typing import Any

import pytest

from tests.training.backtest.shown import EVERYONE, PLAN, played
from training.backtest import page
from training.backtest.result import COLUMNS

SCRIPT = re.compile(r"<script[^>]*>.*?</script>", re.DOTALL)
CONTENT = re.compile(r'<script id="content" type="application/json">(.*?)</script>', re.DOTALL)
REGRET = "Regret against the clairvoyant"
# What makes a browser ask another place for something.
FETCHED = re.compile(r"""<(?:script|img|iframe|link|a)[^>]*(?:src|href)=(?!["']?data:)|url\(""")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "new" / "backtest.html"
    page.write(PLAN, played(), path)
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def charts(text: str) -> dict[str, Any]:
    found = CONTENT.search(text)
    assert found is not None
    return {chart["title"]: chart for chart in json.loads(found[1])}


def test_it_needs_no_network(text: str) -> None:
    markup = SCRIPT.sub("", text)
    assert "http" not in markup
    assert not FETCHED.search(markup)
    assert "<script src" not in text


def test_everyone_is_named_in_both_tables(text: str) -> None:
    markup = SCRIPT.sub("", text)
    for label in EVERYONE:
        assert len(re.findall(f"<td>{label}</td>", markup)) >= 1 + len(PLAN.worlds) - (
            label == "oracle"
        )
    assert all(column.meaning.split("'")[0] in markup for column in COLUMNS)


def test_it_says_what_was_played(text: str) -> None:
    assert "1 weather of 4 days in each of W1, W3." in text
    assert "Sources 5d5d5d5d5d5d" in text


def test_a_strategy_has_one_color(charts: dict[str, Any]) -> None:
    bars = {one["name"]: one["marker"]["color"] for one in charts[REGRET]["traces"]}
    assert len(set(bars.values())) == len(bars)
    for chart in charts.values():
        for trace in chart["traces"]:
            color = trace.get("line", trace.get("marker"))["color"]
            assert color == bars.get(trace["name"], color)


def test_a_ruinous_bar_is_cut_and_says_how_high_it_is(charts: dict[str, Any]) -> None:
    bare = next(one for one in charts[REGRET]["traces"] if one["name"] == "paper_mlp:bare")
    assert bare["y"] == [40.0, 40.0]
    assert bare["text"] == ["312.5", "312.5"]
    assert bare["customdata"] == [312.5, 312.5]


def test_paths_are_of_the_first_days_of_each_world(charts: dict[str, Any]) -> None:
    for world in PLAN.worlds:
        chart = charts[f"{world}: the primary's share"]
        assert [one["name"] for one in chart["traces"]] == ["oracle", *PLAN.contestants]
        assert {len(one["y"]) for one in chart["traces"]} == {3 * 288}
        assert chart["traces"][0]["x"][-1] == pytest.approx(72.0 - 1 / 12)
