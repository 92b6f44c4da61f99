"""Cookies as regular expressions over the whole Cookie header.

Called by `conditions`. Of several cookies of one name the first counts, as in `domain.routing`, so
nobody can hide a value behind another one; RE2 has no look-ahead, so "not this name" is spelled out
character by character.
"""

import re

# Optional white space around a cookie.
_SPACE = r"[ \t]*"
# One piece of an expression: what stands for one character, or a quoted text, or anything else.
_PIECE = re.compile(r"\\Q|\\[pP](?:\{|.)|\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|.", re.DOTALL)
# Classes that have a semicolon in them.
_WIDE = {r"\W": r"[^\w;]", r"\S": r"[^\s;]", r"\D": r"[^\d;]", ".": r"[^;\n]"}
_UNREADABLE = (r"\Q", r"\p", r"\P", r"\C", r"\x", r"\B", r"\0", r"\1")
_NOTHING = r"[^\s\S]"


def with_value(name: str, value: str) -> str:
    """Matches a header whose first cookie of the name has a value that the expression matches.

    Args:
        value: an expression that matches no semicolon.
    """
    other = f"(?:{_SPACE}{_not_beginning(f'{name}=')};)*"
    return rf"{other}{_SPACE}{re.escape(name)}=(?:{value}){_SPACE}(?:;.*)?"


def without(name: str) -> str:
    """Matches a header that has no cookie of the name."""
    return f"{_SPACE}{_not_beginning(f'{name}=')}(?:;{_SPACE}{_not_beginning(f'{name}=')})*"


def within_value(expression: str) -> str | None:
    """The same expression of texts without a semicolon; None when that cannot be written."""
    made = []
    for found in _PIECE.finditer(expression):
        piece = found.group()
        if piece.startswith(_UNREADABLE):
            return None
        narrowed = _narrowed(piece)
        if narrowed is None:
            return None
        made.append(narrowed)
    return "".join(made)


def _narrowed(piece: str) -> str | None:
    if piece in _WIDE:
        return _WIDE[piece]
    if piece in {";", r"\;"}:
        return _NOTHING
    if piece.startswith("[^"):
        # The semicolon stands first, where neither a range nor a bracket can take it in.
        return f"[^;{piece[2:]}" if not piece.startswith("[^]") else rf"[^;\]{piece[3:]}"
    if piece.startswith("[") and len(piece) > 1 and _has_semicolon(piece):
        return None
    return piece


def _has_semicolon(character_class: str) -> bool:
    if "[:" in character_class:
        return True
    try:
        return re.match(character_class, ";", re.ASCII) is not None
    except re.error:
        return True


def _not_beginning(text: str) -> str:
    """Matches what neither begins with the text nor with white space nor has a semicolon."""
    made = ""
    for character in reversed(text):
        further = f"|{re.escape(character)}{made}" if made else ""
        made = rf"(?:[^;{_in_class(character)}][^;]*{further})?"
    first = _in_class(text[0])
    return made.replace(f"[^;{first}]", rf"[^; \t{first}]", 1)


def _in_class(character: str) -> str:
    return rf"\{character}" if character in r"\]^-" else character
