"""Text -> Fleet, or every error at once with its place. Called by PUT /v1/fleet and by tests."""

from contextlib import suppress

from controlplane.api.fleet_document.findings import Enough, Findings
from controlplane.api.fleet_document.nodes import Table, compose
from controlplane.api.fleet_document.reading import Place
from controlplane.api.fleet_document.sections import fleet
from controlplane.domain.fleet_order import normalized
from controlplane.domain.topology import Fleet


def parse(text: str, now_s: float = 0.0) -> Fleet:
    """Read a fleet document, YAML or JSON, in canonical order.

    Takes up to a second for 5 MB: call it outside the event loop.

    Args:
        now_s: lifetimes of routes count from it, UTC epoch seconds.

    Raises:
        Invalid: `fleet_invalid` with `errors` in its details, each with line, column, path, found
            and allowed; or as `nodes.compose`.
    """
    findings = Findings()
    parsed = Fleet()
    # With enough findings the rest is left unread, and the fleet is refused below.
    with suppress(Enough):
        root = compose(text, findings) or Table(line=1, column=1, entries=(), size=1)
        parsed = fleet(Place(node=root, path="", findings=findings), now_s)
    findings.raise_if_any()
    return normalized(parsed)
