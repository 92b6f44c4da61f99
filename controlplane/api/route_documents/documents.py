"""Text -> places of its documents, within the limits of fleet documents.

Called by `formats`. Here an error is about a route file, so it gets a code and words of its own.
"""

import re
from collections.abc import Iterator

from controlplane.api.fleet_document.findings import Findings
from controlplane.api.fleet_document.nodes import Node, Scalar, Table, compose_all
from controlplane.api.fleet_document.reading import Place, is_null
from controlplane.domain.errors import Invalid

# Two halves of a character beyond U+FFFF, as JSON writes it, behind an even number of backslashes.
_PAIR = re.compile(r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB]\w{2})\\u([dD][c-fC-F]\w{2})")


def places(text: str, findings: Findings) -> list[Place]:
    """The documents of a YAML or JSON text.

    Raises:
        Invalid: `route_file_too_large`, `route_file_too_complex` or `route_file_unreadable`.
    """
    try:
        roots = compose_all(_joined(text), findings)
    except Invalid as error:
        raise _about_routes(error) from error
    several = len(roots) > 1
    return [
        Place(node=root, path=f"document {number}" if several else "", findings=findings)
        for number, root in enumerate(roots, 1)
    ]


def _about_routes(error: Invalid) -> Invalid:
    message = error.message.replace("fleet document", "route file")
    match error.code:
        case "fleet_too_large":
            return Invalid("route_file_too_large", message, error.details)
        case "fleet_too_complex":
            return Invalid("route_file_too_complex", message, error.details)
        case _:
            return Invalid("route_file_unreadable", message, error.details)


def unreadable(place: Place, problem: str) -> Invalid:
    """The error about a file that is no such document at all."""
    return not_readable((place.node.line, place.node.column), problem)


def too_complex(place: Place, problem: str) -> Invalid:
    """The error about a file that asks for more than one file may."""
    line, column = place.node.line, place.node.column
    message = f"cannot read the route file: line {line}, column {column}: {problem}"
    return Invalid("route_file_too_complex", message)


def not_readable(at: tuple[int, int], problem: str) -> Invalid:
    """The error about a file that cannot be read from a line and column on."""
    line, column = at
    message = f"line {line}, column {column}: {problem}"
    error = {"line": line, "column": column, "path": "", "found": problem, "message": message}
    return Invalid(
        "route_file_unreadable", f"cannot read the route file: {message}", {"errors": [error]}
    )


def entries_of(place: Place) -> Iterator[tuple[str, Place, Place]]:
    """The entries of a table that are not null: name, place of the key, place of the value."""
    seen = set()
    if not isinstance(place.node, Table):
        place.report("a mapping")
        return
    for key, value in place.node.entries:
        name = key.text if isinstance(key, Scalar) else ""
        at = place.child(name, key)
        if name in seen:
            at.report("each key once", "here again")
        elif not is_null(value):
            seen.add(name)
            yield name, at, place.child(name, value)


def members(place: Place) -> dict[str, Place]:
    """The entries of a table whose other keys are no concern here; {} when it is no table."""
    return {name: value for name, _, value in entries_of(place)}


def listed(place: Place | None) -> list[Place]:
    """The places of a list that may be missing."""
    return [] if place is None else list(place.items())


def text_at(place: Place | None) -> str:
    """The text at a place; "" when nothing or no text stands there."""
    node: Node | None = None if place is None else place.node
    return node.text if isinstance(node, Scalar) and not is_null(node) else ""


def _joined(text: str) -> str:
    """JSON may write a character as two halves, which YAML does not know."""
    return _PAIR.sub(_character, text) if "\\ud" in text or "\\uD" in text else text


def _character(match: re.Match[str]) -> str:
    try:
        high, low = int(match[2], 16), int(match[3], 16)
    except ValueError:
        return match[0]
    return f"{match[1]}{chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))}"
