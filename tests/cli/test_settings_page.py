"""docs/settings.md says what settings.py says: every setting, its default and its range."""

import dataclasses
from pathlib import Path

import pytest
from annotated_types import Ge, Gt, Le
from pydantic.fields import FieldInfo

from controlplane.domain.errors import Invalid
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.health.limits import HealthLimits
from controlplane.domain.retraining import RetrainingLimits
from controlplane.domain.suspicion.limits import SuspicionLimits
from controlplane.engine.cadence import Cadence
from controlplane.engine.intents.course import IntentTimes
from controlplane.engine.intents.evacuation import EvacuationRules
from controlplane.settings import CLIENT_VARIABLES, PREFIX, Settings, load

PAGE = (Path(__file__).parents[2] / "docs" / "settings.md").read_text(encoding="utf-8")
NESTED = {
    "retraining": RetrainingLimits,
    "cadence": Cadence,
    "envelope": EnvelopeLimits,
    "suspicion": SuspicionLimits,
    "health": HealthLimits,
    "intents": IntentTimes,
    "evacuation": EvacuationRules,
}


def rows(title: str) -> dict[str, list[str]]:
    """First cell -> the other cells, of the table under a heading."""
    section = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if "|" in line]
    return {cells[0].strip("`"): cells[1:] for cells in lines[2:]}


def range_of(field: FieldInfo) -> str | None:
    words = []
    for rule in field.metadata:
        if isinstance(rule, Ge):
            words.append(f"from {rule.ge}")
        elif isinstance(rule, Gt):
            words.append(f"above {rule.gt}")
        elif isinstance(rule, Le):
            words.append(f"up to {rule.le}")
    return ", ".join(words) or None


def test_every_setting_has_one_row() -> None:
    assert set(rows("The service")) == {f"{PREFIX}{n.upper()}" for n in Settings.model_fields}
    assert all(f"`{name}`" in PAGE for name in CLIENT_VARIABLES)


@pytest.mark.parametrize("name", sorted(set(Settings.model_fields) - set(NESTED) - {"data_dir"}))
def test_unit_default_range_and_reason_are_told(name: str) -> None:
    unit, default, allowed, reason = rows("The service")[f"{PREFIX}{name.upper()}"]
    field = Settings.model_fields[name]
    assert default.strip("`") == (str(field.default) or "empty")
    assert allowed == (range_of(field) or allowed)
    assert unit
    assert reason


@pytest.mark.parametrize(
    "title", ["Cadence", "Retraining", "Envelope", "Suspicion", "Health", "Intents", "Evacuation"]
)
def test_nested_settings_have_their_defaults(title: str) -> None:
    values = dataclasses.asdict(NESTED[title.lower()]())
    told = rows(title)
    assert {key: cells[1].strip("`") for key, cells in told.items()} == {
        key: str(value) for key, value in values.items()
    }
    assert all(len(cells) == 3 and all(cells) for cells in told.values())


@pytest.mark.parametrize("value", ["{", "3", '{"cycle_s": "x"}', '{"nothing": 1}'])
def test_a_setting_that_is_no_json_object_is_named(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("SIGNALBOX_CADENCE", value)
    with pytest.raises(Invalid, match=r"(?i)cadence"):
        load()
