"""Samples of any age: minute means where the raw samples are gone, then the raw ones.

Read by the API and by data sets. Raw samples become minute means in the order of their time, so
the means of a service always come first.
"""

from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.telemetry import Sample
from controlplane.ports.stores import MinuteStore, SampleStore


class Resolution(StrEnum):
    """What one sample of a history is."""

    RAW = "raw"
    MINUTE = "minute"


Aged = tuple[Resolution, Sample]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A range of sender's times, UTC epoch seconds, both ends included."""

    since_s: float
    until_s: float


class History:
    """Both stores as one, by time, then data center."""

    def __init__(self, minutes: MinuteStore, samples: SampleStore) -> None:
        self._minutes = minutes
        self._samples = samples

    async def page(self, service: str, after: tuple[float, str]) -> list[Sample]:
        """Some thousands behind a (time, data center); [] at the end."""
        _, page = await self._page(service, after)
        return page

    async def newest(self, service: str, span: Span, most: int) -> Sequence[Aged]:
        """The newest `most` samples of a span, by time."""
        kept: deque[Aged] = deque(maxlen=most)
        async for resolution, page in self._pages(service, span.since_s):
            kept.extend((resolution, one) for one in page if one.time_s <= span.until_s)
            if page[-1].time_s > span.until_s:
                break
        return list(kept)

    async def _pages(
        self, service: str, since_s: float
    ) -> AsyncIterator[tuple[Resolution, list[Sample]]]:
        resolution, page = await self._page(service, (since_s, ""))
        while page:
            yield resolution, page
            after = (page[-1].time_s, page[-1].datacenter)
            resolution, page = await self._page(service, after)

    async def _page(
        self, service: str, after: tuple[float, str]
    ) -> tuple[Resolution, list[Sample]]:
        if page := await self._minutes.page(service, after):
            return Resolution.MINUTE, page
        return Resolution.RAW, await self._samples.page(service, after)
