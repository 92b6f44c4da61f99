"""What an examination found about a version: one check after the other, with figure and limit.

`training.examination` makes them, the artifact keeps them as part of its digest, and the control
plane puts no version into the shadow that failed one.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check.

    Attributes:
        code: names it; the same in every version.
        passed: also when the rows could not tell, which `message` says then.
        figure, limit: finite; what they count is in `message`.
        message: in words for a person who has to find the cause.
    """

    code: str
    passed: bool
    figure: float
    limit: float
    message: str


def objection(checks: Iterable[Check]) -> str:
    """Why a version may not serve, every failed check in words; "" when none failed."""
    return "; ".join(f"{check.code}: {check.message}" for check in checks if not check.passed)
