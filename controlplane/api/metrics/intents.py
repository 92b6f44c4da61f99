"""Intents as metric families: what stands, what was made, what the store does not have."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from controlplane.domain.intents.intent import IntentKind, IntentState
from controlplane.engine.intents.intents import Intents

STATES = tuple(state for state in IntentState if state is not IntentState.ENDED)


def intent_families(intents: Intents) -> Iterator[Metric]:
    """Every family; ids and authors stay out of labels."""
    counts = Counter((one.kind, one.state) for one in intents.standing)
    standing = GaugeMetricFamily(
        "signalbox_intents", "Intents that stand.", labels=("kind", "state")
    )
    for kind in IntentKind:
        for state in STATES:
            standing.add_metric((kind, state), counts[kind, state])
    yield standing
    made = CounterMetricFamily(
        "signalbox_intents_made", "Intents since the start.", labels=("kind",)
    )
    for kind in IntentKind:
        made.add_metric((kind,), intents.made[kind])
    yield made
    yield GaugeMetricFamily(
        "signalbox_intents_unsaved",
        "Changes of intents that are in force and that the store does not have.",
        value=intents.unsaved,
    )
