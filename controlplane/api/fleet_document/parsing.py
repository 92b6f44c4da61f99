"""Text -> Fleet, or every error at once with its place. Called by PUT /v1/fleet and by tests."""

from controlplane.api.fleet_document.findings import Findings
from controlplane.api.fleet_document.nodes import Table, compose
from controlplane.api.fleet_document.reading import Place
from controlplane.api.fleet_document.sections import fleet
from controlplane.domain.topology import Fleet, normalized


def parse(text: str) -> Fleet:
    """Read a fleet document, YAML or JSON, in canonical order.

    Takes about a second for 5 MB: call it outside the event loop.

    Raises:
        Invalid: `fleet_invalid` with `errors` in its details, each with line, column, path, found
            and allowed; or as `nodes.compose`.
    """
    findings = Findings()
    root = compose(text) or Table(line=1, column=1, entries=(), size=1)
    parsed = fleet(Place(node=root, path="", findings=findings))
    findings.raise_if_any()
    return normalized(parsed)
