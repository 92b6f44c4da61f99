"""The register of findings: what stands now, and what was over lately.

Every judge reports the whole set that it sees, in its own scope; what it no longer reports has
cleared by itself. A new finding and its end are logged once each. Nothing here is stored: after
a restart the same facts make the same findings, with the same ids.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

import structlog

from controlplane.domain.errors import NotFound
from controlplane.domain.findings import Finding, Observation, Source, finding_id

log = structlog.get_logger(__name__)

# How many that are over can still be read.
CLEARED_KEPT = 500


class Findings:
    """What is wrong now.

    `appeared` counts new findings since the start, by source; `changes` grows whenever a finding
    appears or clears, so that a stream can tell that there is something to show.

    Args:
        now: the clock, UTC epoch seconds.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._standing: dict[tuple[Source, str], dict[str, Finding]] = {}
        self._cleared: dict[str, Finding] = {}
        self.appeared: Counter[Source] = Counter()
        self.changes = 0

    def report(
        self,
        source: Source,
        observations: Iterable[Observation],
        scope: str = "",
        untried: Collection[str] = (),
    ) -> tuple[Finding, ...]:
        """Take everything that one judge sees now; what it saw before and no longer does clears.

        Args:
            scope: tells judges of one source apart (a service, a plane, a step); each replaces
                its own set only.
            untried: subjects that were not judged this time: their findings stand.

        Returns:
            The findings that are new.
        """
        before = self._standing.get((source, scope), {})
        now: dict[str, Finding] = {}
        for observation in observations:
            found = self._seen(source, finding_id(source, scope, observation), observation, before)
            now[found.id] = found
        for earlier in before.values():
            if earlier.id in now:
                continue
            if earlier.observation.subject in untried:
                now[earlier.id] = earlier
            else:
                self._clear(earlier)
        self._keep((source, scope), now)
        new = tuple(finding for finding in now.values() if finding.id not in before)
        for finding in new:
            self._appear(finding)
        return new

    def standing(self) -> list[Finding]:
        """What is wrong now: by source, then subject, then code."""
        found = (finding for scope in self._standing.values() for finding in scope.values())
        return sorted(found, key=_order)

    def cleared(self) -> list[Finding]:
        """What was over lately, the latest first."""
        return list(reversed(self._cleared.values()))

    def by_id(self, finding_id: str) -> Finding:
        """A standing finding, or one that was over lately; NotFound."""
        for scope in self._standing.values():
            if finding_id in scope:
                return scope[finding_id]
        if finding_id in self._cleared:
            return self._cleared[finding_id]
        raise NotFound(
            "finding_not_found",
            f"no finding has the id {finding_id[:40]!r}; it may be over for long: see the list",
        )

    def _seen(
        self, source: Source, known_as: str, observation: Observation, before: dict[str, Finding]
    ) -> Finding:
        now_s = self._now()
        earlier = before.get(known_as)
        if earlier is None:
            return Finding(
                id=known_as, source=source, observation=observation, since_s=now_s, seen_s=now_s
            )
        return replace(earlier, observation=observation, seen_s=now_s, reports=earlier.reports + 1)

    def _keep(self, key: tuple[Source, str], now: dict[str, Finding]) -> None:
        if now:
            self._standing[key] = now
        else:
            self._standing.pop(key, None)

    def _appear(self, finding: Finding) -> None:
        self.changes += 1
        self.appeared[finding.source] += 1
        self._cleared.pop(finding.id, None)
        what = finding.observation
        log.warning(
            "finding.appeared",
            id=finding.id,
            code=what.code,
            subject=what.subject,
            reason=what.message,
            held=what.held,
        )

    def _clear(self, finding: Finding) -> None:
        self.changes += 1
        self._cleared.pop(finding.id, None)
        self._cleared[finding.id] = replace(finding, cleared_s=self._now())
        while len(self._cleared) > CLEARED_KEPT:
            del self._cleared[next(iter(self._cleared))]
        what = finding.observation
        log.info("finding.cleared", id=finding.id, code=what.code, subject=what.subject)


def _order(finding: Finding) -> tuple[str, str, str]:
    return finding.source, finding.observation.subject, finding.observation.code
