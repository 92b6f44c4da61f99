"""What is wrong at one place of a fleet document.

Made by the readers, sent as the `errors` of a problem. Must stay bounded: a broken file of five
megabytes answers with a hundred findings, not with millions, and soon.
"""

import difflib
from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import islice

from controlplane.api.fleet_document.lookalikes import odd_characters, printable
from controlplane.api.fleet_document.programs import Programs
from controlplane.domain.errors import Invalid

MOST_FINDINGS = 100
# Reading ends here; a file with so many errors was not meant to be a fleet.
MOST_COUNTED = 1_000
# Looking for a near name takes milliseconds among a thousand.
MOST_SUGGESTIONS = 20
MOST_COMPARED = 300
LONGEST_QUOTE = 80
MOST_LISTED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One error: where (line and column count from 1), what was found, what is allowed.

    Attributes:
        pointer: the place as a JSON pointer (RFC 6901); "" is the whole document.
    """

    line: int
    column: int
    path: str
    found: str
    allowed: str
    pointer: str = ""


class Enough(Exception):
    """`MOST_COUNTED` findings are there: reading on would only take time."""


@dataclass(slots=True)
class Findings:
    """Collects the findings of one document."""

    kept: list[Finding] = field(default_factory=list)
    count: int = 0
    suggestions: int = 0
    programs: Programs = field(default_factory=Programs)

    def add(self, finding: Finding) -> None:
        """Take one finding; raises Enough when there are too many to go on."""
        self.count += 1
        if len(self.kept) < MOST_FINDINGS:
            self.kept.append(finding)
        if self.count >= MOST_COUNTED:
            raise Enough

    def suggestion(self, word: str, names: Collection[str]) -> str:
        """ "; did you mean X?" when a name is close to the word, else ""; for the first few."""
        if self.suggestions >= MOST_SUGGESTIONS:
            return ""
        self.suggestions += 1
        candidates = [name for name in islice(names, MOST_COMPARED) if len(name) <= LONGEST_QUOTE]
        near = difflib.get_close_matches(word[:LONGEST_QUOTE], candidates, n=1, cutoff=0.6)
        return f"; did you mean {printable(near[0])}?" if near else ""

    def raise_if_any(self) -> None:
        """Raise Invalid `fleet_invalid` with the findings by place, if there is one."""
        if not self.count:
            return
        ordered = sorted(self.kept, key=lambda f: (f.line, f.column, f.path))
        first = ordered[0]
        rest = f", and {self.count - 1} more" if self.count > 1 else ""
        number = f"{self.count} or more" if self.count >= MOST_COUNTED else str(self.count)
        raise Invalid(
            "fleet_invalid",
            f"the document has {number} error(s): line {first.line}, column "
            f"{first.column}: {first.path} is {first.found}; allowed: {first.allowed}{rest}",
            {"errors": [as_plain(finding) for finding in ordered], "count": self.count},
        )


def as_plain(finding: Finding) -> dict[str, object]:
    """The finding as JSON's types."""
    return {
        "line": finding.line,
        "column": finding.column,
        "path": finding.path,
        "pointer": finding.pointer,
        "found": finding.found,
        "allowed": finding.allowed,
        "message": f"{finding.path} is {finding.found}; allowed: {finding.allowed}",
    }


def quoted(text: str) -> str:
    """The text as it is shown in a finding: shortened, and what is not ASCII told by name."""
    odd = odd_characters(text)
    shown = repr(text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE] + "...")
    return f"{shown} ({odd})" if odd else shown


def listed(names: Collection[str]) -> str:
    """Allowed names, each once, shortened."""
    some = islice(dict.fromkeys(names), MOST_LISTED)
    shown = ", ".join(printable(name[:LONGEST_QUOTE]) for name in some)
    if len(names) <= MOST_LISTED:
        return shown or "none are declared"
    return f"{shown}, ... ({len(names)} in all)"
