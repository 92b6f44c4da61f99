"""Metric sources as they are declared: whom to ask for samples, and which questions.

Part of the fleet. Where a source's credential is kept is a setting, never a part of it.
"""

from dataclasses import dataclass

SERVICE_LABEL = "service"
DATACENTER_LABEL = "datacenter"
# A question beside those for readings: UTC seconds of the newest raw sample behind them.
NEWEST_SAMPLE = "newest_sample"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredSource:
    """One Prometheus, or what speaks its HTTP API.

    Attributes:
        url: http or https, up to the path before `/api/v1`.
        queries: reading of a sample, or `newest_sample`, -> PromQL; each is one instant query for
            all services and data centers.
        period_s: between two questions, > 0; None is the period of the control plane.
        service_label, datacenter_label: the labels of an answer that name whom it is about.
        credential: name of a credential in the settings; "" asks without one.
    """

    name: str
    url: str
    queries: tuple[tuple[str, str], ...]
    period_s: float | None = None
    service_label: str = SERVICE_LABEL
    datacenter_label: str = DATACENTER_LABEL
    credential: str = ""
