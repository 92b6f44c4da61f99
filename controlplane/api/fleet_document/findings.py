"""What is wrong at one place of a fleet document.

Made by the readers, sent as the `errors` of a problem. Must stay bounded: a broken file of five
megabytes answers with a hundred findings, not with millions.
"""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field

from controlplane.domain.errors import Invalid

MOST_FINDINGS = 100
LONGEST_QUOTE = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One error: where (line and column count from 1), what was found, what is allowed."""

    line: int
    column: int
    path: str
    found: str
    allowed: str


@dataclass(slots=True)
class Findings:
    """Collects the findings of one document; counts on when the list is full."""

    kept: list[Finding] = field(default_factory=list)
    count: int = 0

    def add(self, finding: Finding) -> None:
        """Take one finding."""
        self.count += 1
        if len(self.kept) < MOST_FINDINGS:
            self.kept.append(finding)

    def raise_if_any(self) -> None:
        """Raise Invalid `fleet_invalid` with all findings by place, if there is one."""
        if not self.count:
            return
        ordered = sorted(self.kept, key=lambda f: (f.line, f.column, f.path))
        first = ordered[0]
        rest = f", and {self.count - 1} more" if self.count > 1 else ""
        raise Invalid(
            "fleet_invalid",
            f"the fleet document has {self.count} error(s): line {first.line}, column "
            f"{first.column}: {first.path} is {first.found}; allowed: {first.allowed}{rest}",
            {"errors": [as_plain(finding) for finding in ordered], "count": self.count},
        )


def as_plain(finding: Finding) -> dict[str, object]:
    """The finding as JSON's types."""
    return {
        "line": finding.line,
        "column": finding.column,
        "path": finding.path,
        "found": finding.found,
        "allowed": finding.allowed,
        "message": f"{finding.path} is {finding.found}; allowed: {finding.allowed}",
    }


def quoted(text: str) -> str:
    """The text as it is shown in a finding, shortened."""
    return repr(text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE] + "...")


def listed(names: Iterable[str]) -> str:
    """Allowed names, shortened."""
    ordered = list(dict.fromkeys(names))
    shown = ", ".join(ordered[:20]) or "none are declared"
    return shown if len(ordered) <= 20 else f"{shown}, ... ({len(ordered)} in all)"


def suggestion(word: str, names: Iterable[str]) -> str:
    """ "; did you mean X?" when a name is close to the word, else ""."""
    near = difflib.get_close_matches(word[:LONGEST_QUOTE], list(names)[:1000], n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""
