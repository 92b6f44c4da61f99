"""The mapping file of an import: TOML, checked as a whole before a row is read.

Every error of a file is told at once, with its line and column. docs/datasets.md is the format.
"""

import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import ValidationError

from controlplane.domain.errors import Invalid
from training.importers import toml_places
from training.importers.mapping import Center, Combine, Mapping, Ranges, Reading, Table
from training.importers.mapping_form import CenterForm, FileForm, PrometheusForm, ReadingForm
from training.importers.times import TimeFormat
from training.importers.units import BANDWIDTH, RATE, RESPONSE, factors
from training.site_dataset import MARK

# A mapping is a page; what is larger is another file by mistake.
MOST_BYTES = 1_000_000
_DEFAULT_COMBINE = {"cpu_max": Combine.MAX, "scheduling_ratio": Combine.LAST}


@dataclass(slots=True)
class _Problems:
    """What is wrong, by place; `folder` is where relative names start."""

    folder: Path
    found: list[tuple[toml_places.Path, str]] = field(default_factory=list)

    def add(self, words: str, *path: str | int) -> None:
        self.found.append((path, words))


def read_mapping(path: Path, url: str | None = None) -> Mapping:
    """Read and check a mapping file.

    Args:
        url: of the Prometheus, in place of the one that the file names.

    Raises:
        Invalid: `mapping_unreadable`: no file, or no TOML; `mapping_invalid`: every error, one a
            line as FILE:LINE:COLUMN: key: what is wrong.
    """
    text = _text(path)
    try:
        form = FileForm.model_validate(tomllib.loads(text))
    except ValidationError as error:
        found = [(_path(one["loc"]), _words(one)) for one in error.errors()]
        raise _invalid(path, text, found) from error
    except (ValueError, RecursionError) as error:
        # No TOML, a number of thousands of digits, or tables a thousand deep.
        raise Invalid("mapping_unreadable", f"{path}: {error}") from error
    problems = _Problems(folder=path.resolve().parent)
    mapping = _mapping(form, problems)
    if problems.found:
        raise _invalid(path, text, problems.found)
    if url is None or mapping.ranges is None:
        return mapping
    return replace(mapping, ranges=replace(mapping.ranges, url=url.rstrip("/")))


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise Invalid("mapping_unreadable", f"{path}: more than {MOST_BYTES} bytes")
        return content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid("mapping_unreadable", f"{path}: {error}") from error


def _path(location: tuple[int | str, ...]) -> toml_places.Path:
    return tuple(part for part in location if part != "[key]")


def _words(error: Any) -> str:
    words: str = error["msg"]
    return words.removeprefix("Value error, ")


def _invalid(path: Path, text: str, found: list[tuple[toml_places.Path, str]]) -> Invalid:
    placed = sorted((*toml_places.place_of(text, key), _dotted(key), words) for key, words in found)
    return Invalid(
        "mapping_invalid",
        "\n".join(f"{path}:{line}:{column}: {key}: {words}" for line, column, key, words in placed),
    )


def _dotted(path: toml_places.Path) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".") or "the file"


def _mapping(form: FileForm, problems: _Problems) -> Mapping:
    if form.phase_s >= form.period_s:
        problems.add("must be less than period_s", "phase_s")
    centers = tuple(_center(one, at, problems) for at, one in enumerate(form.centers))
    if form.ratio is not None and len(centers) > 2:
        problems.add("one number is a split of two centers only", "ratio")
    for at, center in enumerate(centers):
        if center.name in {one.name for one in centers[:at]}:
            problems.add("two centers have the same name", "centers", at, "name")
        if MARK in center.name:
            problems.add(f"a name may not have a {MARK!r}", "centers", at, "name")
    ranges = _ranges(form.prometheus, problems) if form.prometheus else None
    _check_needed(centers, ranges, problems)
    time = form.time
    return Mapping(
        period_s=form.period_s,
        phase_s=form.phase_s,
        centers=centers,
        table=Table(
            time_column=time.column,
            time=TimeFormat(pattern=time.format, zone=ZoneInfo(time.zone), shift_s=time.shift_s),
            delimiter=form.delimiter,
        ),
        ranges=ranges,
        fixed_ratio=form.ratio,
        hold_ratio=form.hold_ratio,
    )


def _center(form: CenterForm, at: int, problems: _Problems) -> Center:
    readings = []
    for metric, one in form.metrics.items():
        path = ("centers", at, "metrics", metric)
        files = one.file or form.file
        if not one.column:
            problems.add("name the column", *path)
        if one.query:
            problems.add("a query belongs to [prometheus.metrics]", *path, "query")
        if not files:
            problems.add("name the file here or at the center", *path)
        readings.append(_reading(metric, one, files, (problems, path)))
    return Center(name=form.name, readings=tuple(readings), where=tuple(form.where.items()))


def _ranges(form: PrometheusForm, problems: _Problems) -> Ranges:
    readings = []
    for metric, one in form.metrics.items():
        path = ("prometheus", "metrics", metric)
        if one.column:
            problems.add("a column belongs to [centers.metrics]", *path, "column")
        if bool(one.query) == bool(one.file):
            problems.add("name either a query or the files of its answers", *path)
        readings.append(_reading(metric, one, one.file, (problems, path)))
    asked = any(one.query for one in readings)
    if asked and not (form.start and form.end and form.start < form.end):
        problems.add("queries need start and end, the start before the end", "prometheus", "start")
    return Ranges(
        readings=tuple(readings),
        service=form.service,
        service_label=form.service_label,
        datacenter_label=form.datacenter_label,
        url=form.url or "",
        start_s=form.start.timestamp() if form.start else 0.0,
        end_s=form.end.timestamp() if form.end else 0.0,
        token_file=problems.folder / form.token_file if form.token_file else None,
    )


def _reading(
    metric: str,
    form: ReadingForm,
    files: list[str],
    place: tuple[_Problems, tuple[str | int, ...]],
) -> Reading:
    problems, path = place
    known = factors(metric, form.kind)
    unit = form.unit if form.unit is not None else next(iter(known), "")
    if not known:
        problems.add(f"{metric} cannot be a {form.kind}", *path, "kind")
    elif unit not in known:
        problems.add(f"no unit {unit!r} here; there are {', '.join(known)}", *path, "unit")
    return Reading(
        metric=metric,
        factor=known.get(unit, 1.0),
        unit=unit,
        kind=form.kind,
        combine=form.combine or _DEFAULT_COMBINE.get(metric, Combine.MEAN),
        column=form.column,
        query=form.query,
        files=tuple(problems.folder / one for one in files),
    )


def _check_needed(centers: tuple[Center, ...], ranges: Ranges | None, problems: _Problems) -> None:
    of_all = {one.metric for one in ranges.readings} if ranges else set()
    for at, center in enumerate(centers):
        known = of_all | {one.metric for one in center.readings}
        if RESPONSE not in known:
            problems.add(f"{center.name} needs {RESPONSE}", "centers", at)
        if not known & {RATE, BANDWIDTH}:
            problems.add(f"{center.name} needs {RATE}, or {BANDWIDTH} in its place", "centers", at)
