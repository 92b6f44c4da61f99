"""What a backtest leaves: its scores as a table, as JSON, and what they depend on.

Called by `python -m training backtest` and benchmarks.closed_loop; training.backtest.page makes the
HTML of the same result.
"""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from training.backtest.scores import Score
from training.backtest.tournament import Plan, Played
from training.whole_file import whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of the table.

    Attributes:
        title: its head; meaning: one line for readers.
        field: of `Score`; form: how a cell is written; width: negative for text, to the left.
    """

    title: str
    field: str
    form: str
    width: int
    meaning: str

    def cell(self, one: Score) -> str:
        """The cell of a score; empty where there is no figure."""
        value = getattr(one, self.field)
        return "" if value is None else format(value, self.form)


COLUMNS = (
    Column(
        title="world",
        field="world",
        form="",
        width=-6,
        meaning="where",
    ),
    Column(
        title="strategy",
        field="label",
        form="",
        width=-21,
        meaning="who: a strategy, or a reference. static is the operator's ratio held, capacity "
        "the split by nominal capacities, best_static the best held ratio in hindsight; oracle "
        "knows every minute, oracle_limited may move 0.05 a cycle",
    ),
    Column(
        title="ms",
        field="mean_ms",
        form=".1f",
        width=8,
        meaning="response time in ms, mean over all requests of all weathers",
    ),
    Column(
        title="static %",
        field="vs_static_pct",
        form=".2f",
        width=10,
        meaning="response time against static, %",
    ),
    Column(
        title="best st. %",
        field="vs_best_static_pct",
        form=".2f",
        width=11,
        meaning="response time against the best held ratio of each weather, %",
    ),
    Column(
        title="regret %",
        field="regret_pct",
        form=".2f",
        width=10,
        meaning="response time above the oracle, %",
    ),
    Column(
        title="gain",
        field="gain_share",
        form=".3f",
        width=8,
        meaning="part of the oracle's gain over static that was reached; 1 is all of it",
    ),
    Column(
        title="moves/d",
        field="changes_per_day",
        form=".1f",
        width=8,
        meaning="changes of the split per day",
    ),
    Column(
        title="moved/d",
        field="variation_per_day",
        form=".2f",
        width=8,
        meaning="how much of the traffic they moved per day, as a share",
    ),
    Column(
        title=">97 %",
        field="overload_minutes_14d",
        form=".0f",
        width=7,
        meaning="minutes per fortnight in which a center was above 97 % utilization",
    ),
    Column(
        title="worst day %",
        field="worst_day_vs_static_pct",
        form=".2f",
        width=12,
        meaning="the worst day of all weathers: response time against static on that day, %",
    ),
    Column(
        title="violations",
        field="violations",
        form="d",
        width=11,
        meaning="promises of the envelope that were not kept, checked apart from it",
    ),
    Column(
        title="own %",
        field="own_pct",
        form=".0f",
        width=6,
        meaning="cycles that the strategy decided itself, without fallback or demotion, %",
    ),
    Column(
        title="coverage",
        field="coverage",
        form=".3f",
        width=9,
        meaning="part of the cycles whose response time lay in the decision's 90 % interval",
    ),
)


def table(scores: Sequence[Score]) -> str:
    """One line per world and contestant."""
    head = "".join(_padded(column.title, column.width) for column in COLUMNS)
    lines = ("".join(_padded(c.cell(one), c.width) for c in COLUMNS) for one in scores)
    return "\n".join([head, *lines])


def document(plan: Plan, played: Played, minutes: float) -> dict[str, Any]:
    """The result as JSON values; a number that does not exist is null. `minutes` that it took."""
    return {
        "plan": asdict(plan),
        "sources_digest": played.sources_digest,
        "machine": {
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "numpy": np.__version__,
        },
        "minutes": round(minutes, 1),
        "scores": [asdict(one) for one in played.scores],
    }


def write_json(content: dict[str, Any], path: Path) -> None:
    """Write a document."""
    with whole(path) as place:
        place.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def _padded(text: str, width: int) -> str:
    """To the right; to the left, and apart from the next, where the width is negative."""
    return f"{text} ".ljust(-width) if width < 0 else text.rjust(width)
