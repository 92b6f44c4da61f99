"""Operations as metric families: alerts, planned changes, webhooks, incidents."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from controlplane.domain.operations.changes import FINAL, ChangeState
from controlplane.domain.operations.webhooks import DeliveryState
from controlplane.engine.operations.office import Office


def operation_families(office: Office) -> Iterator[Metric]:
    """Every family; names of targets, policies and receivers stay out of labels."""
    yield from _alerts(office)
    yield from _changes(office)
    yield from _webhooks(office)
    yield GaugeMetricFamily(
        "signalbox_incident_open",
        "1 while an incident is open.",
        value=int(office.incidents.open is not None),
    )
    yield CounterMetricFamily(
        "signalbox_journal_entries_lost",
        "Entries of the journal that had no room while the store was away.",
        value=office.journal.lost,
    )


def _alerts(office: Office) -> Iterator[Metric]:
    alerts = office.alerts
    yield GaugeMetricFamily(
        "signalbox_alerts_firing", "Alerts that fire now.", value=len(alerts.firing)
    )
    episodes = GaugeMetricFamily(
        "signalbox_alert_episodes",
        "Targets that alerts are about, by whether an intent was ordered.",
        labels=("ordered",),
    )
    ordered = sum(1 for one in alerts.episodes.values() if one.intent)
    episodes.add_metric(("yes",), ordered)
    episodes.add_metric(("no",), len(alerts.episodes) - ordered)
    yield episodes
    yield CounterMetricFamily(
        "signalbox_alerts_received", "Alerts that were told since the start.", value=alerts.received
    )
    yield CounterMetricFamily(
        "signalbox_alerts_dropped", "Alerts that had no room.", value=alerts.dropped
    )
    yield CounterMetricFamily(
        "signalbox_alert_intents", "Intents that alerts have ordered.", value=alerts.ordered
    )


def _changes(office: Office) -> Iterator[Metric]:
    found = Counter(one.state for one in office.changes.items.all.values())
    states = GaugeMetricFamily(
        "signalbox_changes", "Planned changes that are not over, by state.", labels=("state",)
    )
    for state in ChangeState:
        if state not in FINAL:
            states.add_metric((state.value,), found[state])
    yield states
    ended = CounterMetricFamily(
        "signalbox_changes_ended", "Planned changes by how they ended.", labels=("state",)
    )
    for state in sorted(FINAL):
        ended.add_metric((state.value,), office.changes.ended[state])
    yield ended


def _webhooks(office: Office) -> Iterator[Metric]:
    messenger = office.messenger
    yield GaugeMetricFamily(
        "signalbox_webhooks_waiting", "Messages that are not taken yet.", value=messenger.waiting
    )
    ended = CounterMetricFamily(
        "signalbox_webhooks_ended", "Messages by how they ended.", labels=("state",)
    )
    for state in (DeliveryState.DEAD, DeliveryState.DELIVERED):
        ended.add_metric((state.value,), messenger.ended[state])
    yield ended
    yield CounterMetricFamily(
        "signalbox_webhooks_dropped", "Messages that had no room.", value=messenger.dropped
    )
