"""Fleet -> YAML, the form that `parsing.parse` reads back to the same fleet.

Called by GET /v1/fleet. What has its default is left out, so that a file says what was chosen.
"""

import dataclasses
from collections.abc import Mapping
from enum import StrEnum

from controlplane.api.fleet_document.sections import FLEET_KEYS
from controlplane.api.fleet_document.times import rfc3339
from controlplane.api.fleet_document.yaml_text import yaml_text
from controlplane.domain.admission.flash_sale.policy import FlashSalePolicy
from controlplane.domain.admission.policy import Attachment, Policy
from controlplane.domain.fleet_order import normalized, ordered
from controlplane.domain.routing.callers.policies import Grant, Jwt
from controlplane.domain.routing.route import FunctionCall, HeaderChanges, Route, RouteCheck
from controlplane.domain.services import Service
from controlplane.domain.sources import DeclaredSource
from controlplane.domain.topology import Fleet


def render(fleet: Fleet) -> str:
    """The fleet as YAML in canonical order."""
    return yaml_text(document(fleet), flow=None)


def document(fleet: Fleet) -> dict[str, object]:
    """The fleet as JSON's types in canonical order: the same document as in YAML."""
    facts = normalized(fleet)
    # Sections stay when they are empty: an exported file shows what could stand there.
    return {section: _plain(getattr(facts, section)) for section in FLEET_KEYS}


def plain_route(route: Route) -> dict[str, object]:
    """One route as its own document."""
    found = _plain(ordered(route))
    return found if isinstance(found, dict) else {}


def plain_policy(policy: Policy) -> dict[str, object]:
    """One policy as its own document."""
    found = _plain(policy)
    return found if isinstance(found, dict) else {}


# Pairs of a name and a value are a mapping in the document.
_MAPPINGS: Mapping[type, tuple[str, ...]] = {
    Service: ("static_shares",),
    DeclaredSource: ("queries",),
    Route: ("labels",),
    RouteCheck: ("headers",),
    FunctionCall: ("arguments",),
    HeaderChanges: ("set",),
    Jwt: ("claims",),
    Grant: ("labels",),
}


def _plain(value: object) -> object:
    """A part of a fleet as the document's types, without what has its default."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        entries = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        usual = {f.name: f.default for f in dataclasses.fields(value)}
        told = {key: item for key, item in entries.items() if item != usual[key]}
        for key in _MAPPINGS.get(type(value), ()):
            if key in told:
                told[key] = dict(told[key])
        if isinstance(value, Policy):
            told = _flat(told)
        if isinstance(value, Route | FlashSalePolicy):
            told = {_KEYS.get(key, key): _in_words(key, item) for key, item in told.items()}
        return {key: _plain(item) for key, item in told.items()}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, StrEnum) else value


def _flat(told: dict[str, object]) -> dict[str, object]:
    """A policy with what it is attached to beside its name."""
    attachment = told.pop("attachment", Attachment())
    lists = {f.name: getattr(attachment, f.name) for f in dataclasses.fields(Attachment)}
    return {key: names for key, names in lists.items() if names} | told


_KEYS: Mapping[str, str] = {
    "valid_from_s": "valid_from",
    "valid_until_s": "valid_until",
    "opens_at_s": "opens_at",
    "ends_at_s": "ends_at",
}


def _in_words(key: str, value: object) -> object:
    """Times are seconds inside and RFC 3339 in the document."""
    return rfc3339(value) if key in _KEYS and isinstance(value, float) else value
