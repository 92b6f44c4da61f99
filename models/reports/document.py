"""A report as one HTML file that needs nothing else: style, scripts and figures are inside.

Called by `python -m training report`, by a backtest and by the API. The charts are drawn in the
browser by Plotly, whose script comes from the installed wheel; the console draws with the same
scripts.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from html import escape
from importlib.util import find_spec
from pathlib import Path
from string import Template

from models.artifact import Json
from models.errors import ArtifactError
from models.reports.card import card
from models.reports.comparison import compare

STATIC = Path(__file__).parent / "static"
SCRIPTS = ("report-words.js", "report-charts.js", "report.js")
STYLES = ("page.css", "report.css")


def of_one(sheet: Json) -> Json:
    """What `report.js` shows of one version."""
    return {"models": [sheet], "card": [asdict(section) for section in card(sheet)]}


def of_two(first: Json, second: Json) -> Json:
    """What `report.js` shows of two versions side by side."""
    differences = [asdict(line) for line in compare(first, second)]
    return {"models": [first, second], "differences": differences}


def page(title: str, content: Json) -> str:
    """The file: about 5 MB, nearly all of it Plotly.

    Args:
        content: of `of_one` or `of_two`; for a version that decides now, `decision` may be
            added: `time`, `strategy`, `applied` and `decided` (the primary's share, 0..1),
            `support` and `curve` as the API has them.

    Raises:
        ArtifactError: the package plotly is not installed.
    """
    parts = {
        "title": escape(title),
        "beside": '<button id="language" type="button">中文</button>',
        "body": "",
        "without": "<code>signalbox models card</code> prints the figures",
        "content": _embedded(content),
    }
    return _filled((*SCRIPTS, "report-page.js"), parts)


def of_charts(title: str, body: str, charts: Sequence[Json]) -> str:
    """A file of tables and charts that are no version's, in the same style.

    Args:
        title: plain text.
        body: HTML before the charts.
        charts: `title` and `note` in plain text, `traces`, `x` and `y` as Plotly has them, and
            whatever else of its layout; colors of text and grid are the page's.

    Raises:
        ArtifactError: the package plotly is not installed.
    """
    parts = {
        "title": escape(title),
        "beside": "",
        "body": body,
        "without": "the tables have their figures",
        "content": _embedded(charts),
    }
    return _filled(("report-charts.js", "charts-page.js"), parts)


def _filled(scripts: Sequence[str], parts: dict[str, str]) -> str:
    code = (_plotly(), *(_read(name) for name in scripts))
    return Template(_read("page.html")).substitute(
        parts,
        style="\n".join(_read(name) for name in STYLES),
        scripts="\n".join(f"<script>{script}</script>" for script in code),
    )


def _embedded(content: Json | Sequence[Json]) -> str:
    """JSON that no text in it can end the script element of."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _read(name: str) -> str:
    return STATIC.joinpath(name).read_text(encoding="utf-8")


@cache
def _plotly() -> str:
    """The wheel's script; the package itself takes a second to import, and is not."""
    found = find_spec("plotly")
    if found is None or found.origin is None:
        raise ArtifactError("the package plotly is not installed: pip install plotly")
    script = Path(found.origin).parent / "package_data" / "plotly.min.js"
    return script.read_text(encoding="utf-8")
