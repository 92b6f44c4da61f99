"""Names that a person takes for one and the same: `dc-east`, `DC-EAST`, `dc-еast` with Cyrillic.

Called by `reading` and `findings`. Names are ASCII by rule; what is refused for that is told by
code point, because on the screen it may look right. Pure text, no finding is made here.
"""

import unicodedata
from itertools import islice

# Longer texts are no names, and are refused for their length.
LONGEST = 256
MOST_ODD = 3

# Letters of other alphabets above the Latin ones that they look like: a part of Unicode's UTS 39.
# Compatibility forms, such as full-width letters, and accents fall to normalization.
_FOREIGN = "аАВсСеЕһНіІјЈкКӏМоОрРԛѕЅТуУԝхХ" + "αΑΒϲΕηΗιΙκΚΜνΝοΟρΡσΤτυΥΧχΖ" + "ıłøɡ‐‒–—−"
_AS_LATIN = "aABcCeEhHiIjJkKlMoOpPqsSTyYwxX" + "aABcEnHiIkKMvNoOpPoTtuYXxZ" + "ilog-----"
_LATIN = str.maketrans(_FOREIGN, _AS_LATIN)
# Folded before the small letters: it is the capital I that looks like l.
_SAME_STROKE = str.maketrans("0O1I", "ooll")


def forms(name: str) -> tuple[str, str]:
    """The name without case, and its outline: two names that share either look alike."""
    folded = _latin(name[:LONGEST])
    return folded.lower(), folded.translate(_SAME_STROKE).lower()


def printable(text: str) -> str:
    """The text in printable ASCII, so that nothing in it can act on a terminal or reorder it."""
    return text if text.isascii() and text.isprintable() else ascii(text)[1:-1]


def odd_characters(text: str) -> str:
    """The first characters outside printable ASCII by code point, name and place; "" if none."""
    if text.isascii() and text.isprintable():
        return ""
    odd = (
        f"U+{ord(char):04X} {unicodedata.name(char, 'a control character')} at character {place}"
        for place, char in enumerate(text[:LONGEST], 1)
        if not (char.isascii() and char.isprintable())
    )
    return ", ".join(islice(odd, MOST_ODD))


def _latin(text: str) -> str:
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text.translate(_LATIN)).translate(_LATIN)
    # Marks, joiners, direction marks and controls add no stroke that one could rely on.
    return "".join(char for char in decomposed if unicodedata.category(char)[0] not in "CM")
