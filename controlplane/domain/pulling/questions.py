"""What is wrong with whole questions of a round: no answer, an empty or partial one, odd labels.

Called by `joining`. One trouble is one finding, also when it befalls every question or series.
"""

from collections.abc import Collection, Iterable, Sequence

from controlplane.domain.findings import Observation, Severity
from controlplane.domain.pulling.asked import HELD, Asked
from controlplane.domain.sources import Answer, Failure, Pair

MOST_NAMES = 5


def failed(asked: Asked, failures: Iterable[Failure]) -> Iterable[Observation]:
    """One finding for each question; a source that fails all of them alike is one."""
    failures = list(failures)
    codes = {failure.code for failure in failures}
    if len(codes) == 1 and len(failures) == len(asked.source.queries) > 1:
        yield Observation(
            code=failures[0].code,
            subject=asked.subject(),
            message=f"every query: {failures[0].message}",
            held=HELD,
        )
        return
    for failure in failures:
        yield Observation(
            code=failure.code,
            subject=asked.subject(failure.reading),
            message=failure.message,
            held=HELD,
        )


def empty(
    asked: Asked, answers: Sequence[Answer], failures: Sequence[Failure]
) -> Iterable[Observation]:
    """One finding for each answer without series; a source that gives nothing at all is one."""
    readings = [one.reading for one in answers if not one.points and not one.partial]
    words = (
        "is answered without any series: look at the source's own targets, at the names in the "
        "query, and at its range, which must span several scrapes"
    )
    if readings and len(readings) == len(answers) and not failures:
        yield Observation(
            code="source_empty", subject=asked.subject(), message=f"every query {words}", held=HELD
        )
        return
    for reading in readings:
        yield Observation(
            code="source_empty",
            subject=asked.subject(reading),
            message=f"the query {words}",
            held=HELD,
        )


def warned(asked: Asked, answer: Answer) -> Iterable[Observation]:
    """The source's own warnings; a partial answer is one that does not count."""
    words = "; ".join(answer.warnings)
    if answer.partial:
        yield Observation(
            code="source_answer_partial",
            subject=asked.subject(answer.reading),
            message=f"some of the data behind the answer was out of reach: {words}",
            held=HELD,
        )
    elif answer.warnings:
        yield Observation(
            code="source_warning",
            subject=asked.subject(answer.reading),
            message=f"the source warns: {words}",
            severity=Severity.INFO,
        )


def nameless(asked: Asked, reading: str, count: int) -> Observation:
    """Series that do not say whom they are about."""
    source = asked.source
    return Observation(
        code="source_labels_missing",
        subject=asked.subject(reading),
        message=f"{count} series without the labels {source.service_label} and "
        f"{source.datacenter_label}: keep both in the aggregation",
        held=HELD,
    )


def unknown(asked: Asked, strangers: Collection[Pair]) -> Iterable[Observation]:
    """Series about what the fleet does not declare, all in one finding."""
    if strangers:
        yield Observation(
            code="source_names_unknown",
            subject=asked.subject(),
            message=f"{len(strangers)} pairs of service and data center that the fleet does not "
            f"declare: {_listed(strangers)}; match only your own in the queries",
            severity=Severity.INFO,
        )


def _listed(pairs: Iterable[Pair]) -> str:
    ordered = sorted(pairs)
    shown = ", ".join(
        f"{service[:40]} in {center[:40]}" for service, center in ordered[:MOST_NAMES]
    )
    return shown if len(ordered) <= MOST_NAMES else f"{shown}, ..."
