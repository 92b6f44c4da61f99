"""What is wrong with the declared fleet, as findings: changes that were held, references in vain.

Owned by `fleets`. Each set replaces the one before.
"""

from collections.abc import Iterable

from controlplane.domain.findings import Observation, Source
from controlplane.domain.fleet_policies import unknown_references
from controlplane.domain.topology import Fleet
from controlplane.engine.findings import Findings

CHECKS, POLICIES = "checks", "policies"


class FleetFindings:
    """Findings about items of the fleet."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._held: tuple[Observation, ...] = ()

    def held(self, observations: Iterable[Observation]) -> None:
        """Keep what checks held back, in place of what they held before."""
        self._held = tuple(observations)
        self._findings.report(Source.FLEET, self._held, scope=CHECKS)

    def answered(self, subject: str) -> None:
        """What a file could not do to an item is answered by a change of that item."""
        self.held(one for one in self._held if one.subject != subject)

    def in_force(self, fleet: Fleet) -> None:
        """Keep what policies name and nobody declares, as the fleet in force is."""
        self._findings.report(Source.FLEET, unknown_references(fleet), scope=POLICIES)
