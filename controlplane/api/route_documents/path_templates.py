"""A path of OpenAPI as a path match: a parameter is one segment or a part of one.

Called by `openapi`. Literal text becomes what a client sends: percent-encoded where RFC 3986
wants it, escapes in upper case and none that stands for itself.
"""

import re
from urllib.parse import quote, unquote_to_bytes

from controlplane.api.fleet_document.nodes import Table
from controlplane.api.fleet_document.reading import Place
from controlplane.api.route_documents.sketches import table, text
from controlplane.domain.routing.matching.normalization import ALLOWED, UNRESERVED
from controlplane.domain.routing.route import PathMatchType

_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})", re.ASCII)
_PARAMETER = re.compile(r"\{([^{}/]*)\}")
_NAME = re.compile(r"[A-Za-z0-9_.-]+", re.ASCII)
_SEGMENT = "[^/]+"


def path_match(place: Place, template: str) -> Table:
    """Exact, a template, or a regular expression when a parameter is part of a segment only."""
    pieces = _PARAMETER.split(template)
    literals, names = pieces[::2], pieces[1::2]
    if any(character in literal for literal in literals for character in "{}?#"):
        place.report("a path without ? and #, whose braces enclose one name within one segment")
    for name in names:
        if _NAME.fullmatch(name) is None:
            place.report(
                "parameters named by A-Z a-z 0-9 _ . -, for one segment or a part of one",
                f"with the parameter {name!r}",
            )
    sent = [in_url(literal) for literal in literals]
    value = _joined(sent, [f"{{{parameter(name)}}}" for name in names])
    kind = PathMatchType.PATH_TEMPLATE if names else PathMatchType.EXACT
    if any("{" in part and not _PARAMETER.fullmatch(part) for part in value.split("/")):
        kind = PathMatchType.REGULAR_EXPRESSION
        value = _joined([re.escape(literal) for literal in sent], [_SEGMENT] * len(names))
    return table(place, {"type": text(place, kind), "value": text(place, value)})


def parameter(name: str) -> str:
    """A parameter's name as templates take it: letters, digits and `_`, no digit first."""
    word = re.sub("[^A-Za-z0-9_]", "_", name)
    return f"_{word}" if word[:1].isdigit() else word


def in_url(literal: str) -> str:
    """Literal text of a path as clients send it."""
    return _ESCAPE.sub(_escape, quote(literal, safe="".join(sorted(ALLOWED)) + "%"))


def _escape(match: re.Match[str]) -> str:
    character = unquote_to_bytes(match[0]).decode("latin-1")
    return character if character in UNRESERVED else match[0].upper()


def _joined(literals: list[str], between: list[str]) -> str:
    pairs = zip(literals, [*between, ""], strict=True)
    return "".join(part for pair in pairs for part in pair)
