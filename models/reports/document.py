"""A report as one HTML file that needs nothing else: style, scripts and figures are inside.

Called by `python -m training report` and by the API. The charts are drawn in the browser by
Plotly, whose script comes from the installed wheel; the console draws with the same scripts.
"""

import json
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
    template = Template(_read("page.html"))
    scripts = (_plotly(), *(_read(name) for name in SCRIPTS))
    return template.substitute(
        title=escape(title),
        style="\n".join(_read(name) for name in STYLES),
        content=_embedded(content),
        scripts="\n".join(f"<script>{script}</script>" for script in scripts),
    )


def _embedded(content: Json) -> str:
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
