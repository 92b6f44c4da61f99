"""What stands below the intents: the splits as they would be without them.

Called by the loop, which counts as in force what it decided itself, and by the engine, which keeps
these splits with each intent so that they outlive a restart.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from controlplane.domain.intents.intent import Intent, Row, Wanted
from controlplane.domain.intents.scope import touched
from controlplane.domain.snapshot import Content, WeightSet, WeightsSection


def grounded(published: Content, intents: Iterable[Intent]) -> Content:
    """The published content with the splits from before the intents.

    Of a service that several intents touch, the first one knows best: it came when none stood.
    """
    before: dict[str, list[Row]] = {}
    for intent in sorted(intents, key=lambda one: one.number, reverse=True):
        if intent.standing:
            own: dict[str, list[Row]] = {}
            for row in intent.before:
                own.setdefault(row.service, []).append(row)
            before |= own
    if not before:
        return published
    rows: list[WeightSet] = [row for row in published.weights.weights if row.service not in before]
    rows += (_weights(row) for own in before.values() for row in own)
    section = WeightsSection(weights=tuple(sorted(rows, key=lambda one: one.service)))
    return replace(published, weights=section)


def rows_before(wanted: Wanted, content: Content) -> tuple[Row, ...]:
    """The splits that an intent will change or hold, from content without intents."""
    services = touched(wanted, content)
    return tuple(
        Row(
            service=row.service,
            source_region=row.source_region,
            weights=tuple(row.weights.items()),
        )
        for row in content.weights.weights
        if row.service in services
    )


def unknown(intents: Sequence[Intent], content: Content) -> list[tuple[Intent, tuple[Row, ...]]]:
    """Intents that do not know all splits they touch, because services came later; what to add."""
    found = []
    known = {row.service for one in intents if one.standing for row in one.before}
    for one in intents:
        if not (one.standing and one.moves):
            continue
        rows = tuple(row for row in rows_before(one.wanted, content) if row.service not in known)
        if rows:
            known |= {row.service for row in rows}
            found.append((one, rows))
    return found


def _weights(row: Row) -> WeightSet:
    return WeightSet(
        service=row.service, source_region=row.source_region, weights=dict(row.weights)
    )
