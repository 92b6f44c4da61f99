"""Texts of ours in nginx's configuration: words that nothing in them can break out of."""

import hashlib
import re

# nginx has no escape for it; `render` gives this variable the value.
DOLLAR = "${sb_dollar}"
_NAME = re.compile(r"[a-z0-9.-]{1,60}")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9.-]")
_GROUP_NAME = re.compile(r"(\\.)|\(\?P?<(?![=!])\w+>", re.DOTALL)


def word(text: str) -> str:
    """One argument in which nothing is a variable, such as an expression or a pattern."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def plain(text: str) -> str:
    """One argument that nginx reads with variables, giving the text again."""
    return word(text).replace("$", DOLLAR)


def inner(text: str) -> str:
    """A text inside a word that nginx reads with variables."""
    return plain(text)[1:-1]


def without_names(expression: str) -> str:
    """An expression without names of groups, which would become variables."""
    return _GROUP_NAME.sub(lambda found: found[1] or "(", expression)


def name(kind: str, text: str) -> str:
    """The name of an upstream: the text where it is allowed in one, else one that is its own."""
    if _NAME.fullmatch(text):
        return f"{kind}.{text}"
    mark = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{kind}.{_NOT_IN_NAMES.sub('-', text.lower())[:50]}.{mark}"


def comment(text: str) -> str:
    """A text behind `#`, on one line."""
    return "".join(c if c.isprintable() else "?" for c in text)
