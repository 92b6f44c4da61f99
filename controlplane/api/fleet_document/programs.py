"""The regular expressions of one document: each is compiled once, and not without end.

Called by `expressions`. A file of five megabytes may have thirty thousand of the largest, of which
each takes milliseconds, so what all of them compile to is bounded.
"""

from dataclasses import dataclass, field

from controlplane.domain.routing.expressions import Fault, fault, program_size

# Of all different expressions of a document: 10,000 of fifty, or a hundred of the largest. Takes
# half a second.
MOST_INSTRUCTIONS = 500_000
# What it costs to find out about one that is wrong, as instructions: a syntax, a giant.
_SYNTAX, _GIANT = 1_000, 50_000
_TOO_MANY = Fault(
    words=f"one expression too many: those before it compile to {MOST_INSTRUCTIONS} instructions"
)


@dataclass(slots=True)
class Programs:
    """What is known of a document's expressions."""

    faults: dict[str, Fault | None] = field(default_factory=dict)
    left: int = MOST_INSTRUCTIONS

    def fault(self, expression: str) -> Fault | None:
        """What is wrong with an expression, or that the document has too many."""
        if expression in self.faults:
            return self.faults[expression]
        if self.left <= 0:
            return _TOO_MANY
        found = self.faults[expression] = fault(expression)
        if found is None:
            self.left -= program_size(expression)
        else:
            self.left -= _GIANT if found.at is None else _SYNTAX
        return found
