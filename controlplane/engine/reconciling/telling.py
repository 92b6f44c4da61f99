"""What a tick tells: what went wrong as findings, decisions that are in force as log lines.

Called by `loop`. A finding that stands is logged once; what was not tried keeps its findings.
"""

from collections.abc import Iterable

import structlog

from controlplane.domain.decisions import Decision
from controlplane.domain.findings import Source
from controlplane.engine.deciding import regions
from controlplane.engine.deciding.faults import Fault, Step, observed, subject_of
from controlplane.engine.findings import Findings
from controlplane.engine.reconciling.tick import Computed

log = structlog.get_logger(__name__)


def report(findings: Findings, result: Computed, undecided: Iterable[str]) -> None:
    """Report what a tick has computed.

    Args:
        undecided: services that had no trigger.
    """
    undecided = frozenset(undecided)
    _report_faults(findings, Step.DECIDE, result.faults, undecided)
    regions.report(findings, result.made, undecided)
    _report_faults(findings, Step.BUILD, result.desired.faults)
    findings.report(Source.LOOP, result.pools, scope="pools")


def tell(decisions: Iterable[Decision]) -> None:
    """One log line for each decision that is in force now."""
    for decision in decisions:
        log.info(
            "decision.made",
            service=decision.service,
            outcome=decision.outcome,
            shares=decision.decided,
            reasons=[note.code for note in decision.notes],
        )


def _report_faults(
    findings: Findings, step: Step, faults: Iterable[Fault], untried: Iterable[str] = ()
) -> None:
    """Faults become findings; a new one is logged with its traceback."""
    by_subject = {subject_of(fault.service): fault for fault in faults}
    new = findings.report(
        Source.LOOP,
        map(observed, by_subject.values()),
        scope=step,
        untried={subject_of(service) for service in untried},
    )
    for finding in new:
        fault = by_subject[finding.observation.subject]
        log.error("service.failed", service=fault.service, step=step, exc_info=fault.error)
