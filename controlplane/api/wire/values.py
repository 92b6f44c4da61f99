"""Wire values that several resources share: times, lists, samples.

Pydantic lives here and in `resources` only. Times are RFC 3339 on the wire, UTC epoch seconds
inside; not-a-number has no JSON form and is null.
"""

import math
from datetime import UTC, datetime
from typing import Annotated, Any, Generic, TypeVar

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictFloat,
    StrictStr,
)

from controlplane.domain.telemetry import Sample

T = TypeVar("T")

# FastAPI's own type for what an endpoint may answer.
Answers = dict[int | str, dict[str, Any]]

# Years 0001 to 9999 are what RFC 3339 can say.
FIRST_S, LAST_S = -62_135_596_800.0, 253_402_300_799.0


def _whole(text: str) -> str:
    """JSON can say half of a surrogate pair; no store and no answer can."""
    if text != sendable(text):
        raise ValueError("half of a surrogate pair is no character")
    return text


Text = Annotated[str, AfterValidator(_whole)]
Reason = Annotated[Text, Field(max_length=500, description="Why, for the audit log.")]


def _as_seconds(value: object) -> object:
    """A number as a float of seconds; pydantic would take a large one for milliseconds."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if not FIRST_S <= value <= LAST_S:
        raise ValueError("a number is UTC epoch seconds, within the years 0001 to 9999")
    return float(value)


Time = Annotated[
    AwareDatetime | Annotated[StrictFloat, Field(ge=FIRST_S, le=LAST_S)],
    BeforeValidator(_as_seconds),
]


class Wire(BaseModel):
    """What every body is: named fields only."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Items(Wire, Generic[T]):
    """A list; `next` is the cursor of the next page, null at the end."""

    items: list[T]
    next: str | None = None


def stamp(time_s: float) -> datetime:
    """UTC epoch seconds as a wire time."""
    return datetime.fromtimestamp(time_s, UTC)


def stamp_or_none(time_s: float | None) -> datetime | None:
    """As `stamp`; None stays None."""
    return None if time_s is None else stamp(time_s)


def seconds(time: datetime | float) -> float:
    """A wire time as UTC epoch seconds."""
    return time.timestamp() if isinstance(time, datetime) else time


def sendable(text: str) -> str:
    """The text with halves of surrogate pairs escaped: JSON can say them, UTF-8 cannot."""
    return text.encode(errors="backslashreplace").decode()


def finite(value: float) -> float | None:
    """The number, None when it is not finite."""
    return value if math.isfinite(value) else None


class SampleIn(Wire):
    """Metrics of one data centre and service over one period; what is left out is missing."""

    service: StrictStr
    datacenter: StrictStr
    response_time_ms: StrictFloat
    time: Time | None = Field(
        default=None,
        description="End of the period: RFC 3339, or UTC epoch seconds; left out, it is now.",
    )
    request_rate_rps: StrictFloat | None = None
    response_time_p99_ms: StrictFloat | None = None
    error_ratio: StrictFloat | None = None
    inflight: StrictFloat | None = None
    cpu_avg: StrictFloat | None = None
    cpu_max: StrictFloat | None = None
    memory: StrictFloat | None = None
    disk: StrictFloat | None = None
    ingress_bandwidth_bps: StrictFloat | None = None
    connections: StrictFloat | None = None
    connection_limit: StrictFloat | None = None
    pool_use: StrictFloat | None = None

    def sample(self, now_s: float) -> Sample:
        """The domain's sample, received now."""
        values = self.model_dump(exclude={"time"})
        time_s = now_s if self.time is None else seconds(self.time)
        return Sample(time_s=time_s, received_s=now_s, **values)


class SampleOut(SampleIn):
    """A sample as it was taken; `suspicion` is the code for which no decision reads it."""

    received: datetime
    suspicion: str | None = None

    @classmethod
    def of(cls, sample: Sample) -> "SampleOut":
        """The wire form of a sample."""
        metrics = {
            name: getattr(sample, name)
            for name in SampleIn.model_fields
            if name not in ("time", "response_time_ms")
        }
        return cls(
            time=stamp(sample.time_s),
            received=stamp(sample.received_s),
            suspicion=sample.suspicion,
            response_time_ms=float(sample.response_time_ms),
            **metrics,
        )


def sample_or_none(sample: Sample | None) -> SampleOut | None:
    """The wire form of a sample; None stays None."""
    return None if sample is None else SampleOut.of(sample)
