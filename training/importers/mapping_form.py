"""What a mapping file may say: its keys, their types, ranges and defaults.

Read by `mapping_file`, which checks what one key cannot say of another. docs/datasets.md is the
format.
"""

import re
from datetime import datetime
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from training.importers.mapping import Combine
from training.importers.times import EPOCH_MS, EPOCH_S, RFC3339
from training.importers.units import METRICS, Kind

OBSERVED = "observed"


def _metric(name: str) -> str:
    if name not in METRICS:
        raise ValueError(f"there is no metric {name!r}; there are {', '.join(METRICS)}")
    return name


def _plain(name: str) -> str:
    if "\0" in name:
        raise ValueError("no file's name has a NUL")
    return name


def _pattern(text: str) -> str:
    if text not in (RFC3339, EPOCH_S, EPOCH_MS) and "%" not in text:
        raise ValueError(f"use {RFC3339}, {EPOCH_S}, {EPOCH_MS} or a pattern such as %d.%m.%Y")
    try:
        datetime.strptime("", text)  # noqa: DTZ007  only whether it can be used
    except re.error as error:
        raise ValueError("it has a directive twice") from error
    except ValueError as error:
        if "directive" in str(error) or "stray" in str(error):
            raise ValueError(f"it is no pattern of times: {error}") from error
    return text


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError("no zone of the IANA list, such as Europe/Berlin or UTC") from error
    return name


def _url(text: str) -> str:
    if not text.startswith(("http://", "https://")):
        raise ValueError("use http:// or https://, up to the path before /api/v1")
    return text.rstrip("/")


def _ratio(value: object) -> object:
    return None if value == OBSERVED else value


def _list(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _column(value: object) -> object:
    return {"column": value} if isinstance(value, str) else value


def _query(value: object) -> object:
    return {"query": value} if isinstance(value, str) else value


_Name = Annotated[str, Field(min_length=1, max_length=200)]
_File = Annotated[_Name, AfterValidator(_plain)]
_Files = Annotated[list[_File], BeforeValidator(_list)]
_Metric = Annotated[str, AfterValidator(_metric)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class ReadingForm(_Strict):
    """Where one metric is read, and in which unit."""

    column: str = ""
    query: str = ""
    file: _Files = []
    unit: str | None = None
    kind: Kind = Kind.GAUGE
    combine: Combine | None = None


class CenterForm(_Strict):
    """A `[[centers]]`."""

    name: _Name
    file: _Files = []
    where: dict[str, str] = {}
    metrics: dict[_Metric, Annotated[ReadingForm, BeforeValidator(_column)]] = {}


class _Time(_Strict):
    column: _Name = "timestamp"
    format: Annotated[str, AfterValidator(_pattern)] = RFC3339
    zone: Annotated[str, AfterValidator(_zone)] = "UTC"
    shift_s: float = 0.0


class PrometheusForm(_Strict):
    """The `[prometheus]`."""

    url: Annotated[str, AfterValidator(_url)] | None = None
    token_file: _File | None = None
    start: AwareDatetime | None = None
    end: AwareDatetime | None = None
    service: str = ""
    service_label: _Name = "service"
    datacenter_label: _Name = "datacenter"
    metrics: dict[_Metric, Annotated[ReadingForm, BeforeValidator(_query)]]


class FileForm(_Strict):
    """The whole file."""

    period_s: float = Field(default=60.0, ge=1.0, le=86_400.0)
    phase_s: float = Field(default=0.0, ge=0.0)
    delimiter: str = Field(default=",", min_length=1, max_length=1)
    ratio: Annotated[float | None, BeforeValidator(_ratio), Field(ge=0.0, le=1.0)] = None
    hold_ratio: bool = False
    time: _Time = _Time()
    centers: list[CenterForm] = Field(min_length=2, max_length=64)
    prometheus: PrometheusForm | None = None
