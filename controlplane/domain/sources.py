"""Metric sources: whom to ask for samples and which questions, and what was answered.

The declared part belongs to the fleet; where a credential is kept is a setting. Answers come from
the adapters and become samples in `pulling`.
"""

from dataclasses import dataclass

SERVICE_LABEL = "service"
DATACENTER_LABEL = "datacenter"
# A question beside those for readings: UTC seconds of the newest raw sample behind them.
NEWEST_SAMPLE = "newest_sample"

# Service and data center.
Pair = tuple[str, str]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One series of an answer; a label that it lacks is "".

    Attributes:
        value: as the source gave it, also not-a-number.
        time_s: for when the source evaluated it, UTC epoch seconds.
    """

    service: str
    datacenter: str
    value: float
    time_s: float

    @property
    def pair(self) -> Pair:
        """Whom it is about."""
        return self.service, self.datacenter


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one question gave.

    Attributes:
        warnings: the source's own words.
        partial: whether they say that some of the data behind the answer was out of reach, so
            that its sums are too small.
    """

    reading: str
    points: tuple[Point, ...] = ()
    warnings: tuple[str, ...] = ()
    partial: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A question without an answer."""

    reading: str
    code: str
    message: str
