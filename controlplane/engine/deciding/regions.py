"""What stands in the way of a `regional` service, as findings.

Called after each cycle. A service that was not decided in it keeps its findings.
"""

from collections.abc import Iterable, Iterator

from controlplane.domain.decisions import Decision
from controlplane.domain.findings import Observation, Source
from controlplane.engine.deciding.faults import subject_of
from controlplane.engine.findings import Findings

# Codes of notes that an operator has to know of, and what is held because of them.
TOLD = {
    "regional_load_missing": "the splits of all its source regions",
    "regional_no_room": "nothing: the highest load is as low as any split can make it",
}


def report(findings: Findings, made: Iterable[Decision], untried: Iterable[str]) -> None:
    """Report what the decisions of a cycle say.

    Args:
        untried: services that were not decided.
    """
    subjects = {subject_of(service) for service in untried}
    findings.report(Source.LOOP, _observations(made), scope="regions", untried=subjects)


def _observations(made: Iterable[Decision]) -> Iterator[Observation]:
    for decision in made:
        for note in decision.notes:
            if note.code in TOLD:
                yield Observation(
                    code=note.code,
                    subject=subject_of(decision.service),
                    message=note.message,
                    held=TOLD[note.code],
                )
