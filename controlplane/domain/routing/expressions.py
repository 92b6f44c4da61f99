"""Regular expressions in routes: what they mean, what is wrong with one, what it costs.

RE2 decides all of it, the engine that Envoy has: its time grows with the text, whatever the
expression (Cox, "Regular expression matching in the wild", 2010). Why a library: docs/adr/0029.
Called by the matcher, the fleet document and the compilers.
"""

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import re2

# Instructions of a compiled regular expression that our Envoys take; RE2's default of 100 refuses
# ordinary ones of thirty characters.
LARGEST_PROGRAM = 5_000
# Envoy's options (measured with 1.40): each byte is a character, and nothing is logged. Beside them
# less memory than RE2's 8 MiB: 20,000 instructions fit, so a giant is given up after some
# milliseconds, and a hundred hostile expressions do not hold 260 MB of what they saw.
_AS_ENVOY: Mapping[str, object] = {
    "encoding": re2.Options.Encoding.LATIN1,
    "log_errors": False,
    "max_mem": 1 << 20,
}
# For whole texts; nobody asks for groups.
_TO_MATCH = {**_AS_ENVOY, "never_capture": True}
# Compiled expressions that are kept for routes with the same one.
_MOST_KEPT = 256
# Characters of RE2's words, which may repeat the expression.
_MOST_WORDS = 200
# Places that are tried where a piece stands often.
_MOST_TRIED = 10
# What stands for itself in a regular expression.
_LITERALS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/-_~%&=:,;@!'")
_REPETITIONS = frozenset("*?{")


def of_template(template: str) -> str:
    """The regular expression of a path template: `/users/{id}` gives `/users/[^/]+`."""
    segments = template.split("/")
    return "/".join("[^/]+" if _is_parameter(part) else re.escape(part) for part in segments)


def _is_parameter(segment: str) -> bool:
    return segment.startswith("{") and segment.endswith("}")


def literal_start(expression: str) -> str:
    """Text that every path which a regular expression matches begins with; "" when unknown.

    It may be shorter than the longest such text, never longer.
    """
    if "|" in expression:
        return ""
    length = 0
    while length < len(expression) and expression[length] in _LITERALS:
        length += 1
    if length < len(expression) and expression[length] in _REPETITIONS:
        length -= 1
    return expression[: max(length, 0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Why no route can have an expression.

    Attributes:
        words: RE2's own, or how large the program is.
        at: place of the first character of what is wrong, from 0; None is all of it.
    """

    words: str
    at: int | None = None


def fault(expression: str) -> Fault | None:
    """What is wrong with an expression: what RE2 refuses, or a program that Envoy refuses."""
    for options in (_AS_ENVOY, _TO_MATCH):
        if words := _refused(expression, options):
            return Fault(words=words[:_MOST_WORDS], at=_place(expression, words))
    size = program_size(expression)
    if size > LARGEST_PROGRAM:
        return Fault(words=f"a program of {size} instructions")
    return None


def program_size(expression: str) -> int:
    """Instructions that an expression without syntax errors compiles to, as Envoy counts them."""
    size: int = _made(expression, _AS_ENVOY).programsize
    return size


def _place(expression: str, words: str) -> int | None:
    """Where that begins what RE2 dislikes.

    Its words end with a piece of the expression. It reads from left to right, so of several alike
    it means the first one up to which the expression is wrong in the same way. A group that is
    never closed begins where the longest right beginning ends.
    """
    what, _, piece = words.partition(": ")
    if what == "missing )":
        opened = _places(expression, "(")[: -_MOST_TRIED - 1 : -1]
        return next((at for at in opened if not _refused(expression[:at])), None)
    if what == "trailing \\":
        return len(expression) - 1
    if what == "unexpected )":
        piece = ")"
    alike = _places(expression, piece)[:_MOST_TRIED] if piece else []
    if len(alike) == 1:
        return alike[0]
    upto = ((at, expression[: at + len(piece)]) for at in alike)
    return next((at for at, beginning in upto if _refused(beginning).startswith(what)), None)


def _places(expression: str, piece: str) -> list[int]:
    """Where a piece stands, also within itself."""
    return [found.start() for found in re.finditer(f"(?={re.escape(piece)})", expression)]


def _refused(expression: str, options: Mapping[str, object] = _AS_ENVOY) -> str:
    """RE2's words about what it refuses; "" when it does not."""
    try:
        _made(expression, options)
    except re2.error as error:
        words: bytes = error.args[0]
        return words.decode(errors="replace")
    return ""


def _made(expression: str, options: Mapping[str, object]) -> Any:
    """The compiled expression.

    Args:
        options: those that are not RE2's own.

    Raises:
        re2.error: RE2 refuses it.
    """
    made = re2.Options()
    for name, value in options.items():
        setattr(made, name, value)
    return re2.compile(as_bytes(expression), made)


def as_bytes(text: str) -> bytes:
    """A text as it came over the wire: UTF-8, other bytes being surrogates (PEP 383)."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        # Half a pair, which no wire carries.
        return text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression ready to be asked, also by several threads at once."""

    text: str
    _found: Callable[[bytes], object] = field(compare=False, repr=False)

    def matches(self, text: str) -> bool:
        """Whether it matches all of a text, byte for byte."""
        return self._found(as_bytes(text)) is not None


@functools.lru_cache(maxsize=_MOST_KEPT)
def compiled(expression: str) -> Expression:
    """The expression ready to be asked.

    One that RE2 refuses, of a fleet that an earlier version took, matches nothing: data planes
    leave its route out, too.
    """
    try:
        return Expression(expression, _made(expression, _TO_MATCH).fullmatch)
    except re2.error:
        return Expression(expression, lambda _: None)
