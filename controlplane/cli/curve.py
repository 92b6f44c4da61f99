"""A small text plot of response time against ratio, for `signalbox decisions show`.

Pure: points in, lines out.
"""

import math
from collections.abc import Mapping, Sequence

POINT = "·"
ABOVE = "^"
AXIS_WIDTH = 9
# A data centre near saturation is hundreds of times slower; drawn to scale, the valley that
# decides would be flat.
MOST_TIMES_LOWEST = 3.0


def plot(
    points: Sequence[tuple[float, float]],
    marks: Mapping[str, float],
    width: int = 61,
    height: int = 12,
) -> list[str]:
    """Draw a curve.

    Args:
        points: (ratio 0..1, response time in ms); what is not finite is left out.
        marks: one character -> the ratio under which it stands; a mark outside the drawn range
            is left out, and of two marks on one column the later one shows.
        width, height: size of the plotting area in characters, at least 2 x 2.

    Returns:
        The lines, top first, with the response time on the left; [] without two points. What is
        above three times the lowest point is drawn as `^` on the top line.
    """
    drawn = sorted((x, y) for x, y in points if math.isfinite(x) and math.isfinite(y))
    if len(drawn) < 2 or drawn[0][0] == drawn[-1][0]:
        return []
    low_x, high_x = drawn[0][0], drawn[-1][0]
    low_y, high_y = min(y for _, y in drawn), max(y for _, y in drawn)
    if low_y > 0:
        high_y = min(high_y, MOST_TIMES_LOWEST * low_y)
    rows = [[" "] * width for _ in range(height)]
    for x, y in drawn:
        row = _position(min(y, high_y), low_y, high_y, height)
        column = _position(x, low_x, high_x, width)
        rows[height - 1 - row][column] = ABOVE if y > high_y else POINT
    labels = {0: f"{high_y:.1f} ms", height - 1: f"{low_y:.1f} ms"}
    lines = [
        f"{labels.get(index, ''):>{AXIS_WIDTH}} |{''.join(row)}".rstrip()
        for index, row in enumerate(rows)
    ]
    return [*lines, *_axis(low_x, high_x, marks, width)]


def _axis(low: float, high: float, marks: Mapping[str, float], width: int) -> list[str]:
    under = [" "] * width
    for mark, ratio in marks.items():
        if low <= ratio <= high:
            under[_position(ratio, low, high, width)] = mark
    left, right = f"{low:.2f}", f"{high:.2f}"
    margin = " " * AXIS_WIDTH
    return [
        f"{margin} +{'-' * width}",
        f"{margin}  {''.join(under)}".rstrip(),
        f"{margin}  {left}{right:>{max(0, width - len(left))}}",
    ]


def _position(value: float, low: float, high: float, size: int) -> int:
    """The cell of a value; a flat range is drawn in the middle."""
    if high == low:
        return size // 2
    return round((value - low) / (high - low) * (size - 1))
