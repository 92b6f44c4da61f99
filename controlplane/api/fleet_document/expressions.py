"""Regular expressions of routes: what is wrong with one at sight.

Called by `conditions`. Gateways use RE2, which is not here to ask: what only RE2 refuses
(look-around, back references) is found by the check before a push, on the single route. Here
stands what is wrong in every dialect, and programs that cannot fit.
"""

import re
import threading
import warnings

from controlplane.api.fleet_document.reading import Place, matching
from controlplane.domain.routing.expressions import LARGEST_PROGRAM, least_program_size

# Changing the warning filters is not safe between threads.
_one_at_a_time = threading.Lock()


_PRINTABLE = re.compile(r"/[!-~]{0,1023}", re.ASCII)
_ANY = re.compile(r"[ -~]{1,1024}", re.ASCII)


def expression(place: Place) -> str:
    """A regular expression over a whole path; it begins with the path's own /."""
    rule = matching(_PRINTABLE, "a regular expression that begins with /, in printable ASCII")
    return _checked(rule(place), place)


def text_expression(place: Place) -> str:
    """A regular expression over the whole of a header, a query argument or a cookie."""
    rule = matching(_ANY, "a regular expression of 1..1024 of printable ASCII")
    return _checked(rule(place), place)


def _checked(value: str, place: Place) -> str:
    fault = _fault(value) if value else None
    if fault is not None:
        found, allowed = fault
        place.report(allowed, found)
    return value


def _fault(value: str) -> tuple[str, str] | None:
    """(what is found, what is allowed), None when nothing is wrong at sight."""
    try:
        with _one_at_a_time, warnings.catch_warnings():
            # `[[:alpha:]]` is a class in RE2 and only a doubtful set here.
            warnings.simplefilter("ignore")
            re.compile(value)
    except re.error as error:
        where = f" at character {error.pos + 1}" if error.pos is not None else ""
        return f"no regular expression: {error.msg}{where}", "a regular expression in RE2's syntax"
    except OverflowError:
        return "with a repetition that is too large", "repetitions up to 1000"
    except RecursionError:
        return "nested too deep", "a regular expression with fewer groups inside groups"
    size = least_program_size(value)
    if size > LARGEST_PROGRAM:
        found = f"a program of at least {size} instructions"
        return found, f"up to {LARGEST_PROGRAM}: smaller repetitions, or several routes"
    return None
