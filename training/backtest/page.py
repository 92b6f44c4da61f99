"""The HTML report of a backtest: one self-contained file with tables and plots.

Called by `python -m training backtest --html FILE`. Style and drawing are those of a version's
report, models.reports.document: light or dark, and without network.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from models.artifact import Json
from models.reports import document
from training.backtest.reference import labels as reference_labels
from training.backtest.result import COLUMNS, Column
from training.backtest.scores import ORACLE, STATIC, Score, Summary
from training.backtest.tournament import Plan, Played
from training.whole_file import whole

# Cycles of the excerpt that shows paths: three days.
_EXCERPT = 3 * 288
_CYCLES_PER_HOUR = 12.0
# A bar beyond this is cut and says so: one ruinous strategy must not hide all others.
_MOST_PCT = 40.0
# More bars than this have no room for figures; the pointer shows them.
_MOST_LABELED = 24
# The scale of regret is logarithmic; nobody is told apart from the clairvoyant below this.
_LEAST_PCT = 0.01
# Told apart on light and dark ground; a strategy has the same color in every chart.
_COLORS = (
    *("#2f7fd1", "#e07b1f", "#2f9e5b", "#d64545", "#9a67d6"),
    *("#a0705a", "#d873b8", "#a8a02c", "#27a8b8", "#6f7bd0"),
)
_GRAY = "#8a949e"

# (label, world, value) of each.
_Bars = list[tuple[str, str, float]]


def write(plan: Plan, played: Played, path: Path) -> None:
    """Write the report."""
    charts = [
        _regret(plan, played.scores),
        _worst_days(plan, played.scores),
        _moves(plan, played.scores),
        *(_paths(plan, runs, world) for world, runs in played.runs.items()),
    ]
    text = document.of_charts("Backtest", _body(plan, played), charts)
    with whole(path) as place:
        place.write_text(text, encoding="utf-8")


def _body(plan: Plan, played: Played) -> str:
    size = f"{_counted(plan.seeds, 'weather')} of {_counted(plan.days, 'day')}"
    told = (
        f"{size} in each of {', '.join(plan.worlds)}. All strategies meet the same weathers; those "
        "that are not bare pass the control plane's envelope. Regret is how much longer a request "
        "takes than with a clairvoyant that pays nothing for a move."
    )
    origin = f"Sources {played.sources_digest[:12]}, seeds from {plan.first_seed} on."
    sections = (
        f"<p>{escape(told)}</p><p class='quiet'>{escape(origin)}</p>",
        f"<h2>Regret, %</h2>{_by_world(plan, played.scores)}",
        f"<h2>All figures</h2>{_table(played.scores)}{_meanings()}",
    )
    return "".join(f"<section>{section}</section>" for section in sections)


def _by_world(plan: Plan, scores: Sequence[Score]) -> str:
    """Contestants by worlds."""
    worlds = list(dict.fromkeys(one.world for one in scores))
    head = "<th>strategy</th>" + "".join(f"<th class='number'>{escape(w)}</th>" for w in worlds)
    regrets = {(one.label, one.world): one.regret_pct for one in scores}
    rows = []
    for label in (*reference_labels(), *plan.contestants):
        if label != ORACLE:
            cells = (f"<td class='number'>{regrets[label, world]:.2f}</td>" for world in worlds)
            rows.append(f"<tr{_kind(label)}><td>{escape(label)}</td>{''.join(cells)}</tr>")
    return _scrolled(f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>")


def _table(scores: Sequence[Score]) -> str:
    head = "".join(f"<th{_place(column)}>{escape(column.title)}</th>" for column in COLUMNS)
    bodies: dict[str, str] = {}
    for one in scores:
        cells = (f"<td{_place(column)}>{escape(column.cell(one))}</td>" for column in COLUMNS)
        row = f"<tr{_kind(one.label)}>{''.join(cells)}</tr>"
        bodies[one.world] = bodies.get(one.world, "") + row
    rows = "".join(f"<tbody>{body}</tbody>" for body in bodies.values())
    return _scrolled(f"<thead><tr>{head}</tr></thead>{rows}")


def _meanings() -> str:
    rows = "".join(
        f"<tr><td>{escape(column.title)}</td><td>{escape(column.meaning)}</td></tr>"
        for column in COLUMNS
    )
    return f"<details><summary>What the columns mean</summary><table>{rows}</table></details>"


def _scrolled(rows: str) -> str:
    return f"<div class='scroll'><table>{rows}</table></div>"


def _place(column: Column) -> str:
    return "" if column.width < 0 else " class='number'"


def _kind(label: str) -> str:
    return " class='quiet'" if label in reference_labels() else ""


def _regret(plan: Plan, scores: Sequence[Score]) -> Json:
    return {
        "title": "Regret against the clairvoyant",
        "note": f"Lower is better. Bars above {_MOST_PCT:g} % are cut.",
        "traces": _bars(plan, (STATIC, *plan.contestants), _scored(scores, "regret_pct")),
        "x": {"title": "world"},
        "y": {"title": "regret, %"},
    }


def _worst_days(plan: Plan, scores: Sequence[Score]) -> Json:
    return {
        "title": "Worst day against the held ratio",
        "note": "Response time on the worst of all days, against static on that day; below 0 even "
        f"that day was faster. Bars above {_MOST_PCT:g} % are cut.",
        "traces": _bars(plan, plan.contestants, _scored(scores, "worst_day_vs_static_pct")),
        "x": {"title": "world"},
        "y": {"title": "against static, %"},
    }


def _scored(scores: Sequence[Score], figure: str) -> _Bars:
    return [(one.label, one.world, float(getattr(one, figure))) for one in scores]


def _bars(plan: Plan, labels: Sequence[str], bars: _Bars) -> list[Json]:
    """One group per world; what is cut always has its figure."""
    few = sum(label in labels for label, _, _ in bars) <= _MOST_LABELED
    traces = []
    for label in labels:
        worlds = [world for whose, world, _ in bars if whose == label]
        values = [value for whose, _, value in bars if whose == label]
        traces.append(
            {
                "type": "bar",
                "name": label,
                "x": worlds,
                "y": [min(value, _MOST_PCT) for value in values],
                "text": [f"{v:.1f}" if few or v > _MOST_PCT else "" for v in values],
                "textposition": "outside",
                "cliponaxis": False,
                "customdata": values,
                "hovertemplate": "%{x}: %{customdata:.2f} %",
                "marker": {"color": _color(plan, label)},
            }
        )
    return traces


def _moves(plan: Plan, scores: Sequence[Score]) -> Json:
    traces = []
    for label in plan.contestants:
        own = [one for one in scores if one.label == label]
        traces.append(
            {
                "name": label,
                "mode": "markers+text",
                "x": [one.changes_per_day for one in own],
                "y": [max(one.regret_pct, _LEAST_PCT) for one in own],
                "text": [one.world for one in own],
                "textposition": "top center",
                "textfont": {"size": 10},
                "marker": {"size": 9, "color": _color(plan, label)},
            }
        )
    return {
        "title": "What a move buys",
        "note": "To the left and below is better: fast with few moves.",
        "traces": traces,
        "x": {"title": "moves a day", "rangemode": "tozero"},
        "y": {"title": "regret, %", "type": "log", "dtick": "D2", "tickformat": "~g"},
    }


def _paths(plan: Plan, runs: Sequence[Summary], world: str) -> Json:
    """The first seed's first days: what everyone did, and what would have been best."""
    seed = runs[0].seed
    shown = [
        one
        for one in runs
        if one.seed == seed and (one.label == ORACLE or one.label not in reference_labels())
    ]
    return {
        "title": f"{Path(world).stem}: the primary's share",
        "note": f"The first days of seed {seed}. A click on a name hides or shows it.",
        "traces": [_path(one, _color(plan, one.label)) for one in shown],
        "x": {"title": "hours"},
        "y": {"title": "share of the primary", "tickformat": ".2f"},
    }


def _path(one: Summary, color: str) -> Json:
    ideal = one.label == ORACLE
    return {
        "name": one.label,
        "mode": "lines",
        "x": [index / _CYCLES_PER_HOUR for index in range(min(one.path.size, _EXCERPT))],
        "y": [round(float(share), 4) for share in one.path[:_EXCERPT]],
        "line": {"shape": "hv", "width": 1 if ideal else 2, "color": color},
    }


def _color(plan: Plan, label: str) -> str:
    if label in reference_labels():
        return _GRAY
    return _COLORS[plan.contestants.index(label) % len(_COLORS)]


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
