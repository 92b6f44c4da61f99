"""Cohorts: which users or requests belong to a part of all, the same on every data plane.

A number is the first four hexadecimal digits of an id over 65,536, because each plane can compare
those with a regular expression. Called by the matcher and by the compilers.
"""

from controlplane.domain.routing.matching.request import REQUEST_ID, STICKY_COOKIE, Request
from controlplane.domain.routing.route import WHOLE, Cohort, CohortKey

DIGITS = 4
NUMBERS = 16**DIGITS
_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")


def number(identifier: str) -> int | None:
    """The number of an id, below `NUMBERS`; None when it does not begin with four digits."""
    digits = identifier[:DIGITS]
    if len(digits) < DIGITS or not _HEXADECIMAL.issuperset(digits):
        return None
    return int(digits, 16)


def bounds(cohort: Cohort) -> tuple[int, int]:
    """First number in the cohort, and the first behind it.

    n is in it when low <= n * 10,000 / 65,536 < high, so both are rounded up.
    """
    return -(-cohort.low * NUMBERS // WHOLE), -(-cohort.high * NUMBERS // WHOLE)


def everyone(cohort: Cohort) -> bool:
    """Whether also those without an id belong to it."""
    return cohort.low <= 0 and cohort.high >= WHOLE


def contains(cohort: Cohort, request: Request) -> bool:
    """Whether a request belongs to the cohort.

    Without an id it belongs only to a cohort of all: a user gets his cookie with the first
    answer, and before that nobody knows which part he will be in.
    """
    if everyone(cohort):
        return True
    if cohort.by is CohortKey.USER:
        found = number(request.cookies.get(STICKY_COOKIE, ""))
    else:
        found = number(request.headers.get(REQUEST_ID, ""))
    low, high = bounds(cohort)
    return found is not None and low <= found < high


def expression(cohort: Cohort) -> str:
    """A regular expression (RE2) that the first four digits of the cohort's ids match.

    "" when no id belongs to it. Digits may have either case.
    """
    low, high = bounds(cohort)
    return "|".join(_ranges(low, high, DIGITS)) if low < high else ""


def _ranges(low: int, high: int, digits: int) -> list[str]:
    """Expressions for the numbers in [low, high) of so many digits, which is not empty."""
    if digits == 0:
        return [""]
    step = 16 ** (digits - 1)
    first, last = low // step, (high - 1) // step
    if first == last:
        return _below(first, first, _ranges(low - first * step, high - first * step, digits - 1))
    parts: list[str] = []
    if low % step:
        parts += _below(first, first, _ranges(low % step, step, digits - 1))
        first += 1
    upper: list[str] = []
    if high % step:
        upper = _below(last, last, _ranges(0, high % step, digits - 1))
        last -= 1
    if first <= last:
        parts += _below(first, last, _ranges(0, step, digits - 1))
    return parts + upper


def _below(first: int, last: int, rests: list[str]) -> list[str]:
    """Each rest behind one digit from first to last."""
    digit = _digit_class(first, last)
    return [digit + rest for rest in rests]


def _digit_class(first: int, last: int) -> str:
    digits = "0123456789abcdef"[first : last + 1]
    characters = "".join(digit + digit.upper() if digit > "9" else digit for digit in digits)
    return characters if len(characters) == 1 else f"[{characters}]"
