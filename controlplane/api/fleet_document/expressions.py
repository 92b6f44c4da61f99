"""Regular expressions of routes: what is wrong with one at sight.

Called by `conditions`. What RE2 refuses is an error of the file, in its words and with the place;
what only a data plane refuses is found by the check before a push, on the single route.
"""

import re

from controlplane.api.fleet_document.reading import Place, matching
from controlplane.domain.routing.expressions import LARGEST_PROGRAM

_PRINTABLE = re.compile(r"/[!-~]{0,1023}", re.ASCII)
_ANY = re.compile(r"[ -~]{1,1024}", re.ASCII)
_ALLOWED = (
    f"a regular expression in RE2's syntax, of up to {LARGEST_PROGRAM} instructions: neither "
    "look-around nor back references, repetitions up to 1000"
)


def expression(place: Place) -> str:
    """A regular expression over a whole path; it begins with the path's own /."""
    rule = matching(_PRINTABLE, "a regular expression that begins with /, in printable ASCII")
    return _checked(rule(place), place)


def text_expression(place: Place) -> str:
    """A regular expression over the whole of a header, a query argument or a cookie."""
    rule = matching(_ANY, "a regular expression of 1..1024 of printable ASCII")
    return _checked(rule(place), place)


def _checked(value: str, place: Place) -> str:
    wrong = place.findings.programs.fault(value) if value else None
    if wrong is not None:
        where = "" if wrong.at is None else f" at character {wrong.at + 1}"
        place.report(_ALLOWED, f"{wrong.words}{where}")
    return value
