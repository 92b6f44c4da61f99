"""Texts of ours in HAProxy's configuration: words that nothing in them can break out of."""

import hashlib
import re

_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,80}")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.:-]")


def word(text: str) -> str:
    """One argument, whatever stands in it, HAProxy's own quotes and escapes included."""
    if text.isprintable():
        return "'" + text.replace("'", "'\\''") + "'"
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    if character.isalnum() and character.isascii():
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode())


def format_word(text: str) -> str:
    """One argument that HAProxy reads as a log format, giving the text again."""
    return word(text.replace("%", "%%"))


def name(kind: str, text: str) -> str:
    """A proxy's name: the text where it is allowed in one, else a like one that is its own."""
    if _NAME.fullmatch(text):
        return f"{kind}.{text}"
    mark = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{kind}.{_NOT_IN_NAMES.sub('_', text)[:70]}.{mark}"


def comment(text: str) -> str:
    """A text behind `#`, on one line."""
    return "".join(c if c.isprintable() else "?" for c in text)


def in_quotes(text: str) -> str:
    """A text between double quotes that a converter reads within a word."""
    return text.replace("\\", "\\\\").replace('"', '\\"')
