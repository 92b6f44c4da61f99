"""Two versions side by side: where they come from, what they are made of, how well they do.

Works on sheets, so that versions with and without a report can be compared.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from models.artifact import Json

# Where a change in percent means something: not of seeds and times.
MEASURED = ("laws", "scores", "bands", "choices")

Value = str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One line of a comparison.

    Attributes:
        group: `provenance`, `settings`, `laws`, `support`, `scores`,
            `examination`, `bands` (errors by load) or `choices` (the best ratio by load).
        name: what is compared; units are in the name.
        before, after: of the first and the second version; None where one lacks it.
        change_pct: from the first to the second, of numbers; None where it has no meaning.
    """

    group: str
    name: str
    before: Value
    after: Value
    change_pct: float | None

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return self.before == self.after


def compare(first: Json, second: Json) -> tuple[Difference, ...]:
    """Every line of two sheets, in a fixed order, also those that are the same."""
    one, two = dict(_lines(first)), dict(_lines(second))
    names = list(dict.fromkeys([*one, *two]))
    return tuple(_difference(name, one.get(name), two.get(name)) for name in names)


def _difference(name: tuple[str, str], before: Value, after: Value) -> Difference:
    return Difference(
        group=name[0],
        name=name[1],
        before=before,
        after=after,
        change_pct=_change(before, after) if name[0] in MEASURED else None,
    )


def _change(before: Value, after: Value) -> float | None:
    numbers = [value for value in (before, after) if isinstance(value, float)]
    if len(numbers) < 2 or numbers[0] == 0:
        return None
    return round((numbers[1] / numbers[0] - 1.0) * 100.0, 3)


def _lines(sheet: Json) -> Iterator[tuple[tuple[str, str], Value]]:
    model = sheet["model"]
    yield ("provenance", "service"), model["service"]
    yield ("provenance", "kind"), model["kind"]
    for name, value in sheet["provenance"].items():
        yield ("provenance", name), value
    yield from _flat("environment", model["environment"])
    report = sheet["report"]
    if report is not None:
        yield from _flat("settings", report["settings"])
    for center, law in sheet["laws"].items():
        for name, value in law.items():
            yield ("laws", f"{center}_{name}"), value
    yield ("support", "ratio_low"), sheet["support"]["ratio_low"]
    yield ("support", "ratio_high"), sheet["support"]["ratio_high"]
    yield from _flat("scores", sheet["scores"])
    yield from _flat("scores", {f"{k}_best_epoch": v for k, v in sheet["best_epoch"].items()})
    yield from _flat("examination", {c["code"]: _verdict(c) for c in sheet["examination"]})
    if report is not None:
        yield from _measured(report)


def _verdict(check: Json) -> str:
    return f"{'passed' if check['passed'] else 'failed'} at {check['figure']:.4g}"


def _flat(group: str, values: Mapping[str, Value]) -> Iterator[tuple[tuple[str, str], Value]]:
    for name, value in values.items():
        yield (group, name), value


def _measured(report: Json) -> Iterator[tuple[tuple[str, str], Value]]:
    for predictor in report["predictors"]:
        for band in predictor["scores"]:
            for name in ("mae_ms", "mape_pct", "q95_ms", "r2", "coverage"):
                yield ("bands", f"{predictor['name']} {band['band']} {name}"), band[name]
    for scene in report["scenes"]:
        for curve in scene["curves"]:
            yield ("choices", f"{curve['strategy']} {scene['band']} ratio"), curve["chosen"]
