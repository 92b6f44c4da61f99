"""The console's routes: static files with a strict content policy, no data of their own.

`serving` hands them to the application. The page is one more client of /v1: everything it shows
it fetches with the token that its reader typed. Must never render anything on the server.
"""

from importlib.util import find_spec
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from models.reports.document import STATIC as REPORTS

STATIC = Path(__file__).parent / "static"
FILES = {
    "": "index.html",
    "console.js": "console.js",
    "charts.js": "charts.js",
    "api.js": "api.js",
    "models.js": "models.js",
    "policies.js": "policies.js",
    "routes.js": "routes.js",
    "rows.js": "rows.js",
    "words.js": "words.js",
    "console.css": "console.css",
}
# What draws a report here and in a page of its own.
REPORT_FILES = ("report-words.js", "report-charts.js", "report.js", "report.css")
# Scripts and styles from here only. Plotly sets style attributes, but inserts no style element,
# because the page names its own style sheet in that element's place.
CONTENT_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "style-src-attr 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {"Content-Security-Policy": CONTENT_POLICY, "Cache-Control": "no-cache"}


def pages() -> list[BaseRoute]:
    """Routes of the console: `/` leads there, `/console/` is the page."""
    files = {name: STATIC / file for name, file in FILES.items()}
    files |= {name: REPORTS / name for name in REPORT_FILES}
    files["plotly.min.js"] = _plotly()
    return [
        Route("/", _to_console, include_in_schema=False),
        Route("/console", _to_console, include_in_schema=False),
        *(_file_route(f"/console/{name}", path) for name, path in files.items()),
    ]


def _file_route(address: str, path: Path) -> Route:
    async def answer(_request: Request) -> Response:
        return FileResponse(path, headers=HEADERS)

    return Route(address, answer, include_in_schema=False)


async def _to_console(_request: Request) -> Response:
    return RedirectResponse("/console/")


def _plotly() -> Path:
    """The script that the plotly wheel carries; the package itself is not imported."""
    found = find_spec("plotly")
    if found is None or found.origin is None:
        raise FileNotFoundError("the package plotly is not installed; install signalbox again")
    return Path(found.origin).parent / "package_data" / "plotly.min.js"
