"""Regular expressions in routes: what they begin with, how large they compile, what they cost.

Each data plane pays for them, so the fleet document bounds them. Called by it and by the compilers.
"""

import re

# Instructions of a compiled regular expression that our Envoys take; RE2's default of 100 refuses
# ordinary ones of thirty characters.
LARGEST_PROGRAM = 5_000
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


# One atom: an escape, the opening of a group, a class, or another character.
_ATOM = re.compile(
    r"\\.|\((?:\?(?:P?<\w+>|[imsU-]*:))?|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|[^\\]", re.DOTALL
)
_COUNT = re.compile(r"\{(\d+)(?:,(\d*))?\}")


def least_program_size(expression: str) -> int:
    """Instructions that a regular expression compiles to, at least: one for each atom, times its
    repetitions. What cannot be read counts as nothing."""
    sizes = [0]
    last = position = 0
    while (atom := _ATOM.match(expression, position)) is not None:
        position = atom.end()
        match atom.group():
            case opening if opening[0] == "(":
                sizes.append(0)
                last = 0
                continue
            case ")" if len(sizes) > 1:
                last = sizes.pop()
            case "*" | "+" | "?" | "|" | "^" | "$":
                continue
            case _:
                last = 1
        if (count := _COUNT.match(expression, position)) is not None:
            low, high = int(count.group(1)), int(count.group(2) or 0)
            last *= max(low, high)
            position = count.end()
        sizes[-1] += last
    return sum(sizes)
