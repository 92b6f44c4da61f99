"""Regular expressions for data planes with PCRE, which tries again where RE2 does not.

What matches is the same, but some expressions take exponential time on some texts. So each has a
limit of steps; a text on which it is reached does not match. Called by compilers.
"""

import re

# Steps of one match: some milliseconds at most, and far more than an ordinary expression takes
# for 8,192 bytes.
MOST_STEPS = 200_000


def whole(expression: str) -> str:
    """An expression that must match all of a text."""
    return rf"(*LIMIT_MATCH={MOST_STEPS})^(?:{expression})\z"


def first_part(name: str, separator: str) -> str:
    """An expression for `a=1; b=2`: all of it, group 1 the first value of a name.

    Args:
        separator: `;` of cookies, where blanks around a part do not count, or `&` of a query,
            where a name may stand without `=`.
    """
    blank = r"[ \t]*" if separator == ";" else ""
    sign = "=" if separator == ";" else "(?:=|(?=&|$))"
    part = f"{blank}{re.escape(name)}{sign}"
    others = f"(?:(?!{part})[^{separator}]*{separator})*"
    return f"^{others}{part}([^{separator}]*?){blank}(?:{separator}.*)?$"
