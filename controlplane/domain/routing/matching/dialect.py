"""RE2's regular expressions by Python's engine: the few things that are written differently.

Called by the matcher. Data planes have RE2 (or PCRE, which reads the same); what RE2 alone
understands and does not stand here is refused where a route is written.
"""

import re
import warnings

_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": "\\x00-\\x7F",
    "blank": "\\t ",
    "cntrl": "\\x00-\\x1F\\x7F",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\t\\n\\v\\f\\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_WRITTEN_DIFFERENTLY = re.compile(
    r"\\z|\\Q(?P<quoted>.*?)(?:\\E|\Z)|\\.|\[:(?P<posix>[a-z]+):\]", re.DOTALL
)


def compiled(expression: str) -> re.Pattern[str]:
    """The expression for Python's engine; classes are ASCII as in RE2.

    Raises:
        re.error: it is no regular expression for Python.
    """
    with warnings.catch_warnings():
        # A bracket within a class may be a set operation in a later Python; here it is a bracket.
        warnings.simplefilter("ignore", FutureWarning)
        return re.compile(_WRITTEN_DIFFERENTLY.sub(_as_python, expression), re.ASCII)


def _as_python(found: re.Match[str]) -> str:
    text = found.group()
    if text == "\\z":
        return "\\Z"
    if found["quoted"] is not None:
        return re.escape(found["quoted"])
    if found["posix"] is not None:
        return _POSIX.get(found["posix"], text)
    return text
