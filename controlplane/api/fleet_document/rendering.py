"""Fleet -> YAML, the form that `parsing.parse` reads back to the same fleet.

Called by GET /v1/fleet. What has its default is left out, so that a file says what was chosen.
"""

import dataclasses
from enum import StrEnum

import yaml

from controlplane.domain.fleet_order import normalized
from controlplane.domain.sources import DeclaredSource
from controlplane.domain.topology import Fleet, Service

_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def render(fleet: Fleet) -> str:
    """The fleet as YAML in canonical order."""
    content = document(fleet)
    text: str = yaml.dump(
        content, Dumper=_DUMPER, sort_keys=False, allow_unicode=True, default_flow_style=None
    )
    return text


def document(fleet: Fleet) -> dict[str, object]:
    """The fleet as JSON's types in canonical order: the same document as in YAML."""
    facts = normalized(fleet)
    # Sections stay when they are empty: an exported file shows what could stand there.
    return {f.name: _plain(getattr(facts, f.name)) for f in dataclasses.fields(facts)}


def _plain(value: object) -> object:
    """A part of a fleet as the document's types, without what has its default."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        entries = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        if isinstance(value, Service):
            entries["static_shares"] = value.static_shares and dict(value.static_shares)
        if isinstance(value, DeclaredSource):
            entries["queries"] = dict(value.queries)
        usual = {f.name: f.default for f in dataclasses.fields(value)}
        return {key: _plain(item) for key, item in entries.items() if item != usual[key]}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, StrEnum) else value
