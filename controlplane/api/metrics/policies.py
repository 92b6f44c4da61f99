"""Admission policies as metric families: what is declared, and what gateways tell about it."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from controlplane.api.dependencies import ApiServices
from controlplane.domain.admission.policy import Mode, PolicyKind
from controlplane.domain.snapshot import Section


def policy_families(services: ApiServices) -> Iterator[Metric]:
    """Every family; names of policies stay out of labels."""
    counts = Counter((one.kind, one.mode) for one in services.fleets.current.fleet.policies)
    declared = GaugeMetricFamily(
        "signalbox_policies", "Declared admission policies.", labels=("kind", "mode")
    )
    for kind in PolicyKind:
        for mode in Mode:
            declared.add_metric((kind.value, mode.value), counts[kind, mode])
    yield declared
    yield _reports(services)
    yield GaugeMetricFamily(
        "signalbox_policies_not_enforced",
        "Policies that a gateway cannot enforce, summed over gateways.",
        value=sum(len(one.unreadable) for one in services.policy_reports.all()),
    )


def _reports(services: ApiServices) -> Metric:
    """Gateways by whether they run the published version; before the first none does."""
    current = services.publication.current
    version = "" if current is None else current.digests[Section.ADMISSION]
    reports = services.policy_reports.all()
    newest = sum(one.version == version for one in reports)
    family = GaugeMetricFamily(
        "signalbox_policy_gateways",
        "Gateways that told in the last hour which policies they run.",
        labels=("up_to_date",),
    )
    family.add_metric(("yes",), newest)
    family.add_metric(("no",), len(reports) - newest)
    return family
