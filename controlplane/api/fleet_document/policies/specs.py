"""A kind whose keys are the fields of its dataclass, each with a rule, as a table of rules."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from controlplane.api.fleet_document.reading import Place, Rule, T, fields, text_of

LONGEST_TEXT = 200


def spec(kind: type[T], rules: Mapping[str, Rule[Any]]) -> Rule[T]:
    """A table that becomes a `kind`: what is left out has the default of its field, and a field
    without one is required.

    Args:
        rules: of every field that may be declared.
    """
    usual = {
        one.name: one.default
        for one in dataclasses.fields(kind)  # type: ignore[arg-type]
        if one.default is not dataclasses.MISSING
    }

    def rule(place: Place) -> T:
        entries = fields(place, rules)
        return kind(
            **{
                name: entries.optional(name, read, usual[name])
                if name in usual
                else entries.required(name, read, "")
                for name, read in rules.items()
            }
        )

    return rule


def listing(read: Rule[T]) -> Rule[tuple[T, ...]]:
    """A list that may be empty, because that says something else than leaving it out."""
    return lambda place: tuple(dict.fromkeys(read(item) for item in place.items()))


def short_text(place: Place) -> str:
    """Up to 200 characters."""
    value = text_of(place)
    if value is None or len(value) > LONGEST_TEXT:
        place.report(f"a text of at most {LONGEST_TEXT} characters")
        return ""
    return value
