"""The part of a fleet document about metric sources: addresses, labels and questions."""

import re
from urllib.parse import urlsplit

from controlplane.api.fleet_document.reading import (
    Fields,
    Place,
    fields,
    matching,
    name,
    number,
    text_of,
)
from controlplane.domain.sources import NEWEST_SAMPLE, DeclaredSource
from controlplane.domain.telemetry import LIMITS

SOURCE_KEYS = (
    "name",
    "url",
    "queries",
    "period_s",
    "service_label",
    "datacenter_label",
    "credential",
)
QUERY_KEYS = (*LIMITS, NEWEST_SAMPLE)
LOADS = ("request_rate_rps", "ingress_bandwidth_bps")
MOST_QUERY = 4_000

USUAL = DeclaredSource(name="", url="", queries=())
LABEL = matching(
    re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}", re.ASCII),
    "a label name: 1..63 of A-Z a-z 0-9 _ that begin with a letter or _",
)
URL = re.compile(r"https?://[!-~]{1,500}", re.ASCII)
URL_RULE = "http:// or https://, host, port and path, without user, query and fragment"


def source(place: Place) -> DeclaredSource:
    """Read one metric source."""
    entries = fields(place, SOURCE_KEYS)
    read = DeclaredSource(
        name=entries.required("name", name, ""),
        url=entries.required("url", _url, ""),
        queries=entries.required("queries", _queries, ()),
        period_s=entries.optional("period_s", number(1.0, 3600.0), None),
        service_label=entries.optional("service_label", LABEL, USUAL.service_label),
        datacenter_label=entries.optional("datacenter_label", LABEL, USUAL.datacenter_label),
        credential=entries.optional("credential", name, USUAL.credential),
    )
    if read.service_label == read.datacenter_label:
        _same_label(entries, place)
    return read


def _same_label(entries: Fields, place: Place) -> None:
    at = entries.places.get("service_label") or entries.places.get("datacenter_label") or place
    at.report("another label than that of the data center", "the same label for both")


def _url(place: Place) -> str:
    value = text_of(place) or ""
    try:
        parts = urlsplit(value)
        whole = bool(URL.fullmatch(value) and parts.hostname and parts.port != 0)
    except ValueError:
        place.report(URL_RULE)
        return ""
    # A secret in an address would show in every export and log.
    if not whole or "@" in parts.netloc or "?" in value or "#" in value:
        place.report(URL_RULE, "an address that cannot be used" if "@" in value else None)
        return ""
    return value.rstrip("/")


def _queries(place: Place) -> tuple[tuple[str, str], ...]:
    faults = place.findings.count
    entries = fields(place, QUERY_KEYS)
    found = {reading: _query(at) for reading, at in entries.places.items()}
    if place.findings.count > faults:
        return ()
    if "response_time_ms" not in found:
        place.report("a query for response_time_ms, which every sample needs", "without one")
    if not any(load in found for load in LOADS):
        place.report(f"a query for {' or '.join(LOADS)}, one of which every sample needs", "none")
    return tuple(sorted(found.items()))


def _query(place: Place) -> str:
    value = (text_of(place) or "").strip()
    readable = all(character.isprintable() or character in "\n\t" for character in value)
    if not value or len(value) > MOST_QUERY or not readable:
        place.report(f"PromQL of 1..{MOST_QUERY} readable characters")
    return value
