"""An operator's word against a suspicion: what was held is taken for true, and audited.

Called by the API. Saying it twice is saying it once.
"""

from controlplane.domain.access import AuditEntry, Principal
from controlplane.domain.findings import Finding
from controlplane.engine.samples.intake import Intake
from controlplane.engine.stages import Instruments
from controlplane.ports.stores import AuditLog

# Held samples that the audit entry shows.
SHOWN = 3


class Forcing:
    """Forces findings about metrics; a change of the fleet is forced where it is asked for."""

    def __init__(self, intake: Intake, audit: AuditLog, instruments: Instruments) -> None:
        self._intake = intake
        self._audit = audit
        self._findings = instruments.findings
        self._now = instruments.now

    async def force(self, finding_id: str, author: Principal, reason: str) -> Finding:
        """Take for true what is held because of a finding; the finding, which has cleared.

        Raises:
            NotFound: there is no such finding.
            Conflict: it is over.
            Refused: nothing of it can be taken for true, or it is forced elsewhere.
            Retryable: the store takes no audit entry; nothing was changed.
        """
        # The same word at the same time is one word, with one audit entry.
        async with self._intake.suspicions.forcing:
            return await self._force(self._findings.by_id(finding_id), author, reason)

    async def _force(self, finding: Finding, author: Principal, reason: str) -> Finding:
        suspicions = self._intake.suspicions
        if suspicions.is_forced(finding):
            return finding
        held = suspicions.held(finding)
        shown = ", ".join(f"{one.load:g}/s {one.response_time_ms:g} ms" for one in held[-SHOWN:])
        await self._audit.append(
            AuditEntry(
                time_s=self._now(),
                author=author.name,
                action="finding.force",
                subject=finding.observation.subject,
                reason=reason,
                before=f"{finding.observation.code}: {finding.observation.message}"[:4000],
                after=f"{len(held)} held samples are trusted ({shown})",
            )
        )
        self._intake.release(suspicions.force(finding))
        return self._findings.by_id(finding.id)
