"""Time limits and retries of an HTTPRoute rule. Called by `http_route`."""

import re

from controlplane.api.fleet_document.nodes import Node
from controlplane.api.fleet_document.reading import Fields, Place, fields
from controlplane.api.route_documents.documents import text_at
from controlplane.api.route_documents.imports import Notes
from controlplane.api.route_documents.sketches import number

# GEP-2257: one to four numbers with their units.
DURATION = re.compile(r"(\d{1,5}(h|ms|m|s)){1,4}", re.ASCII)
_PART = re.compile(r"(\d+)(h|ms|m|s)", re.ASCII)
MOST_TIMEOUT_MS = 3_600_000
MS = {"h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}


def limits(rule: Fields, notes: Notes) -> dict[str, Node]:
    """`timeout_ms` and `retries`, as far as the rule says them."""
    found: dict[str, Node] = {}
    if "timeouts" in rule.places:
        timeouts = fields(rule.places["timeouts"], ("request", "backendRequest")).places
        if "backendRequest" in timeouts:
            notes.add(
                timeouts["backendRequest"],
                "timeouts.backendRequest is not kept: one try lasts as long as the retry policy "
                "of the service says",
            )
        if "request" in timeouts:
            # No limit is the longest that there is, as the standard wants it.
            timeout_ms = duration_ms(timeouts["request"]) or MOST_TIMEOUT_MS
            found["timeout_ms"] = number(timeouts["request"], timeout_ms)
    if "retry" in rule.places:
        retry = fields(rule.places["retry"], ("attempts", "codes", "backoff")).places
        if "attempts" in retry:
            found["retries"] = retry["attempts"].node
        for key in ("codes", "backoff"):
            if key in retry:
                notes.add(retry[key], f"retry.{key} is not kept: each data plane has its own")
    if "sessionPersistence" in rule.places:
        notes.add(
            rule.places["sessionPersistence"],
            "sessionPersistence is not kept: users stay on an endpoint by Signalbox's own cookie",
        )
    return found


def duration_ms(place: Place) -> int:
    """A duration of the Gateway API in milliseconds."""
    value = text_at(place)
    if DURATION.fullmatch(value) is None:
        place.report("a duration of the Gateway API, as 10s or 1m30s")
        return 1
    return sum(int(count) * MS[unit] for count, unit in _PART.findall(value))
