"""One round of questions to one metric source, and what it gave."""

from collections.abc import Collection
from dataclasses import dataclass

from controlplane.domain.findings import Observation
from controlplane.domain.sources import DeclaredSource, Pair
from controlplane.domain.telemetry import Sample

HELD = "its newest sample stays; once that is too old, shares hold"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One round of questions to one source.

    Attributes:
        time_s: for when was asked, UTC epoch seconds.
        period_s: between two rounds; a series older than two of them is stale.
        expected: whom the source told about lately.
    """

    source: DeclaredSource
    time_s: float
    period_s: float
    expected: Collection[Pair] = ()

    def subject(self, reading: str = "", pair: Pair | None = None) -> str:
        """The item of a finding."""
        words = [f"source/{self.source.name}"]
        words += [f"query/{reading}"] if reading else []
        words += [f"service/{pair[0]}", f"datacenter/{pair[1]}"] if pair else []
        return " ".join(words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulled:
    """What a round gave: samples by service and data center, and what is wrong."""

    samples: tuple[Sample, ...] = ()
    observations: tuple[Observation, ...] = ()
