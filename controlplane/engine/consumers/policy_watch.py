"""Looks whether policies in force have an agent that enforces them; each without one is a finding.

Run for as long as the process. An agent is there while it polls the policies; after a start all of
them are given the time to come back.
"""

import asyncio
from collections.abc import Callable, Hashable

from controlplane.domain.findings import Observation, Source
from controlplane.domain.policy_agents import unenforced
from controlplane.domain.snapshot import Section, Snapshot
from controlplane.engine.consumers.policy_reports import PolicyReports
from controlplane.engine.stages import Instruments

PERIOD_S = 2.0
# Agents try again after 5 s at most.
SETTLING_S = 30.0
SCOPE = "policies"


class PolicyWatch:
    """What is published against who polls.

    Args:
        current: what is published now.
    """

    def __init__(
        self,
        current: Callable[[], Snapshot | None],
        reports: PolicyReports,
        instruments: Instruments,
    ) -> None:
        self._current = current
        self._reports = reports
        self._now = instruments.now
        self._findings = instruments.findings
        self._began_s = instruments.now()
        self._judged: Hashable = None
        self._found: tuple[Observation, ...] = ()

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            self.look()
            await asyncio.sleep(PERIOD_S)

    def look(self) -> None:
        """Judge what is published now."""
        snapshot = self._current()
        if snapshot is None or 0 <= self._now() - self._began_s < SETTLING_S:
            return
        agents = self._reports.groups()
        digests = snapshot.digests
        judged = (digests[Section.ADMISSION], digests[Section.ROUTES], agents)
        if judged != self._judged:
            self._found = tuple(unenforced(snapshot.content, agents))
            self._judged = judged
        self._findings.report(Source.DATA_PLANE, self._found, scope=SCOPE)
