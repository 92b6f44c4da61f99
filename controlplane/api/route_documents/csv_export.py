"""Routes -> CSV as `csv_routes` reads it; every route can be said. Called by `formats`."""

import csv
import io
import json
from collections.abc import Sequence

from controlplane.api.fleet_document.rendering import plain_route
from controlplane.api.route_documents.csv_routes import COLUMNS
from controlplane.api.route_documents.omissions import Exported
from controlplane.domain.routing.route import Condition, Route

LISTS = ("hosts", "methods", "sources", "gateways", "authentication")


def csv_text(routes: Sequence[Route]) -> Exported:
    """One row a route, in the order of the routes."""
    file = io.StringIO()
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_row(route) for route in routes)
    return Exported(text=file.getvalue(), notes=())


def _row(route: Route) -> dict[str, object]:
    plain = plain_route(route)
    row: dict[str, object] = {"match": route.path.type, "path": route.path.value}
    row |= {name: " ".join(getattr(route, name)) for name in LISTS if name in plain}
    row["versions"] = " ".join(f"{each.version}={each.weight}" for each in route.versions)
    row["conditions"] = "\n".join(map(_condition, route.conditions))
    said = {"path", "versions", "conditions", *LISTS}
    row |= {name: plain[name] for name in COLUMNS if name in plain and name not in said}
    more = {key: value for key, value in plain.items() if key not in (*COLUMNS, *said)}
    row["more"] = json.dumps(more, separators=(",", ":")) if more else ""
    return row


def _condition(condition: Condition) -> str:
    words = (condition.part, condition.name, condition.type, condition.value)
    return " ".join(word for word in words if word)
