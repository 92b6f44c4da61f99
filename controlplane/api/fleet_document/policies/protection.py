"""The kind `protection` of an admission policy: block lists, limits, encodings, match functions."""

import re

from controlplane.api.fleet_document.conditions import (
    METHOD,
    functions,
    network,
    path_match,
)
from controlplane.api.fleet_document.policies.specs import listing
from controlplane.api.fleet_document.reading import (
    Fields,
    Place,
    Rule,
    fields,
    integer,
    matching,
)
from controlplane.domain.admission.protection import LIMITS, LISTS, ProtectionPolicy

PROTECTION_KEYS = (*LISTS, *(name for name, _, _ in LIMITS))
CODING = matching(
    re.compile(r"[a-z0-9][a-z0-9_-]{0,31}", re.ASCII), "a content coding in lower case, as gzip"
)
USUAL = ProtectionPolicy()


def protection(place: Place) -> ProtectionPolicy:
    """Read what is refused; lists come in order, because theirs means nothing."""
    entries = fields(place, PROTECTION_KEYS)
    limits = {name: _limit(entries, name, low, high) for name, low, high in LIMITS}
    sources = entries.optional("blocked_sources", listing(network), USUAL.blocked_sources)
    paths = entries.optional("blocked_paths", listing(path_match), USUAL.blocked_paths)
    return ProtectionPolicy(
        blocked_sources=tuple(sorted(sources)),
        blocked_methods=_words(entries, "blocked_methods", METHOD, USUAL.blocked_methods),
        blocked_paths=tuple(sorted(paths, key=lambda one: (one.type, one.value))),
        blocked_when=entries.optional("blocked_when", functions, ()),
        encodings=_words(entries, "encodings", CODING, USUAL.encodings),
        **limits,
    )


def _limit(entries: Fields, name: str, low: int, high: int) -> int:
    default: int = getattr(USUAL, name)
    return entries.optional(name, integer(low, high), default)


def _words(
    entries: Fields, name: str, rule: Rule[str], default: tuple[str, ...]
) -> tuple[str, ...]:
    return tuple(sorted(entries.optional(name, listing(rule), default)))
