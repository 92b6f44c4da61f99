"""The HTML report of a backtest: one self-contained file with table and plots.

Called by `python -m training backtest --html FILE`. It needs no network: the plot script is inside.
"""

import html
from collections.abc import Sequence
from pathlib import Path

import plotly.graph_objects as go

from training.backtest.reference import labels as reference_labels
from training.backtest.result import COLUMNS
from training.backtest.scores import ORACLE, STATIC, Score, Summary
from training.backtest.tournament import Plan, Played

# Cycles of the excerpt that shows paths: three days.
_EXCERPT = 3 * 288
# A bar beyond this is cut and says so: one ruinous strategy must not hide all others.
_MOST_REGRET = 40.0
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem;
  color: #1a1a1a; background: #fff; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid #ddd; }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left; }
tr.reference { color: #666; }
"""


def write(plan: Plan, played: Played, path: Path) -> None:
    """Write the report."""
    figures = [
        _regret(plan, played.scores),
        _moves(plan, played.scores),
        _worst_days(plan, played.scores),
        *(_paths(world, runs) for world, runs in played.runs.items()),
    ]
    parts = [
        figure.to_html(full_html=False, include_plotlyjs=index == 0)
        for index, figure in enumerate(figures)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_page(plan, played.scores, parts), encoding="utf-8")


def _page(plan: Plan, scores: Sequence[Score], parts: Sequence[str]) -> str:
    told = (
        f"{plan.seeds} weathers of {plan.days} days in each of {', '.join(plan.worlds)}. "
        "All strategies meet the same weathers; those that are not bare pass the control plane's "
        "envelope. Regret is the response time above a clairvoyant that pays nothing for a move."
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>Backtest</title><style>{_STYLE}</style></head><body><h1>Backtest</h1>"
        f"<p>{html.escape(told)}</p>{_table(scores)}{''.join(parts)}</body></html>"
    )


def _table(scores: Sequence[Score]) -> str:
    head = "".join(f"<th>{html.escape(column.title)}</th>" for column in COLUMNS)
    return f"<table><tr>{head}</tr>{''.join(_row(one) for one in scores)}</table>"


def _row(one: Score) -> str:
    cells = "".join(f"<td>{html.escape(column.cell(one))}</td>" for column in COLUMNS)
    kind = ' class="reference"' if one.label in reference_labels() else ""
    return f"<tr{kind}>{cells}</tr>"


def _regret(plan: Plan, scores: Sequence[Score]) -> go.Figure:
    figure = go.Figure()
    for label in (STATIC, *plan.contestants):
        own = [one for one in scores if one.label == label]
        figure.add_bar(
            name=label,
            x=[one.world for one in own],
            y=[min(one.regret_pct, _MOST_REGRET) for one in own],
            text=[f"{one.regret_pct:.1f}" for one in own],
        )
    return _titled(figure, "Regret against the clairvoyant", "world", "regret, %")


def _moves(plan: Plan, scores: Sequence[Score]) -> go.Figure:
    figure = go.Figure()
    for label in plan.contestants:
        own = [one for one in scores if one.label == label]
        figure.add_scatter(
            name=label,
            mode="markers+text",
            x=[one.changes_per_day for one in own],
            y=[one.regret_pct for one in own],
            text=[one.world for one in own],
            textposition="top center",
        )
    figure.update_yaxes(type="log")
    return _titled(figure, "What a move buys", "changes a day", "regret, % (log)")


def _worst_days(plan: Plan, scores: Sequence[Score]) -> go.Figure:
    figure = go.Figure()
    for label in plan.contestants:
        own = [one for one in scores if one.label == label]
        figure.add_bar(
            name=label,
            x=[one.world for one in own],
            y=[min(one.worst_day_vs_static_pct, _MOST_REGRET) for one in own],
            text=[f"{one.worst_day_vs_static_pct:.1f}" for one in own],
        )
    title = "Worst day against the held ratio"
    return _titled(figure, title, "world", "response time against static, %")


def _paths(world: str, runs: Sequence[Summary]) -> go.Figure:
    """The first seed's first days: what everyone did, and what would have been best."""
    seed = runs[0].seed
    figure = go.Figure()
    for one in runs:
        if one.seed == seed and (one.label == ORACLE or one.label not in reference_labels()):
            path = one.path[:_EXCERPT]
            figure.add_scatter(
                name=one.label,
                x=[index / 12.0 for index in range(path.size)],
                y=path,
                line={"shape": "hv", "width": 1 if one.label == ORACLE else 2},
                opacity=0.4 if one.label == ORACLE else 1.0,
            )
    title = f"{world}: share of the primary, seed {seed}, first days"
    return _titled(figure, title, "hours", "share of the primary")


def _titled(figure: go.Figure, title: str, x: str, y: str) -> go.Figure:
    figure.update_layout(
        title=title, xaxis_title=x, yaxis_title=y, template="plotly_white", height=420
    )
    return figure
