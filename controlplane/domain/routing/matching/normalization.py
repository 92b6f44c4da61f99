"""The normal form of hosts and paths: the one spelling that rules are compared with.

The same for our matcher and for each data plane, so that no spelling slips past a rule. Called
where requests come in; rules are written in normal form already. The order is that of RFC 3986,
section 6.2.2, and what two readers might take differently is refused instead of repaired.
"""

import string
from dataclasses import dataclass
from enum import StrEnum

# Bytes of a request target without its query.
LONGEST_PATH = 8_192

UNRESERVED = frozenset(string.ascii_letters + string.digits + "-._~")
# What RFC 3986 lets stand in a path, beside percent escapes.
ALLOWED = UNRESERVED | frozenset("!$&'()*+,;=:@/")
_DIGITS = frozenset(string.digits)
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_ALLOWED_BYTES = "".join(sorted(ALLOWED)).encode()


class Unreadable(StrEnum):
    """Why a path has no normal form."""

    NOT_A_PATH = "does not begin with a slash"
    TOO_LONG = "is too long"
    NOT_ASCII = "has characters that are not ASCII"
    CONTROL = "has a control character"
    BACKSLASH = "has a backslash"
    ESCAPED_SLASH = "has an escaped slash or backslash"
    BROKEN_ESCAPE = "has a percent sign without two hexadecimal digits"
    NOT_ALLOWED = "has a character that no path may have"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A request that is answered before any route is looked at.

    Attributes:
        status: 400, or 414 for what is too long.
    """

    status: int = 400
    reason: Unreadable


def normalized(target: str) -> str | Refusal:
    """The path of a request target in normal form; the query is dropped.

    Escapes of unreserved characters are decoded, the others get upper-case digits; dot segments
    go as in RFC 3986, section 5.2.4, then runs of slashes become one.
    """
    path = target.partition("?")[0]
    if len(path) > LONGEST_PATH:
        return Refusal(status=414, reason=Unreadable.TOO_LONG)
    if not path.startswith("/"):
        return Refusal(reason=Unreadable.NOT_A_PATH)
    if (unreadable := _unreadable(path)) is not None:
        return Refusal(reason=unreadable)
    if "%" in path:
        decoded = _decoded(path)
        if isinstance(decoded, Unreadable):
            return Refusal(reason=decoded)
        path = decoded
    if "/." in path:
        path = _without_dot_segments(path)
    while "//" in path:
        path = path.replace("//", "/")
    return path


def _unreadable(path: str) -> Unreadable | None:
    """What is wrong with raw characters; most paths end at the first line that looks at bytes."""
    if not path.isascii():
        return Unreadable.NOT_ASCII
    strange = path.encode().translate(None, _ALLOWED_BYTES + b"%").decode()
    if not strange:
        return None
    if "\\" in strange:
        return Unreadable.BACKSLASH
    return Unreadable.NOT_ALLOWED if strange.isprintable() else Unreadable.CONTROL


def _escape(byte: int) -> str | Unreadable:
    character = chr(byte)
    if character in "/\\":
        return Unreadable.ESCAPED_SLASH
    if byte < 0x20 or byte == 0x7F:
        return Unreadable.CONTROL
    return character if character in UNRESERVED else f"%{byte:02X}"


_ESCAPES = {
    high + low: _escape(int(high + low, 16))
    for high in string.hexdigits
    for low in string.hexdigits
}


def _decoded(path: str) -> str | Unreadable:
    first, *rest = path.split("%")
    parts = [first]
    for part in rest:
        escape = _ESCAPES.get(part[:2], Unreadable.BROKEN_ESCAPE)
        if isinstance(escape, Unreadable):
            return escape
        parts += (escape, part[2:])
    return "".join(parts)


def _without_dot_segments(path: str) -> str:
    segments = path[1:].split("/")
    kept: list[str] = []
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in {".", ".."}:
        kept.append("")
    return "/" + "/".join(kept)


def normalized_host(authority: str) -> str:
    """A host in lower case, without port and without the dot at its end; "" stays.

    Only ASCII has lower case and digits here: other characters may become letters of a name.
    """
    name, colon, port = authority.rpartition(":")
    if not colon or not _DIGITS.issuperset(port) or name.endswith(":"):
        name = authority
    return lower(name).removesuffix(".")


def lower(name: str) -> str:
    """A name with the letters of ASCII in lower case, as data planes do it."""
    return name.lower() if name.isascii() else name.translate(_LOWER)
