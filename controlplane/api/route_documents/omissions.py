"""What a format cannot say of a route, so that no export loses anything in silence.

Used by the exports. What decides who gets through (conditions, gateways, authentication, times)
cannot be left away: such a route is left out. What only tunes it is noted.
"""

from collections.abc import Collection
from dataclasses import dataclass, fields

from controlplane.domain.routing.route import Route

_PLAIN = Route(id="")
# Without them a route would let through, or send elsewhere, what it must not.
DECISIVE = frozenset(
    {
        "conditions",
        "sources",
        "functions",
        "cohort",
        "gateways",
        "authentication",
        "valid_from_s",
        "valid_until_s",
        "versions",
        "redirect",
        "response",
        "rewrite",
        "request_headers",
        "response_headers",
        "transform",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Omission:
    """What is not said of one item, as `route/search`; `left_out` when it is not there at all."""

    subject: str
    left_out: bool
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """A file and what it does not say."""

    text: str
    notes: tuple[Omission, ...]


def omission(route: Route, said: Collection[str], form: str) -> Omission | None:
    """What a format that says only some members does not say of a route; None when it says all."""
    silent = [
        field.name
        for field in fields(Route)
        if field.name not in said and getattr(route, field.name) != getattr(_PLAIN, field.name)
    ]
    if not silent:
        return None
    decisive = [name for name in silent if name in DECISIVE]
    words = ", ".join(name.removesuffix("_s") for name in decisive or silent)
    end = "the route is left out" if decisive else "the route is written without it"
    return Omission(
        subject=f"route/{route.id}",
        left_out=bool(decisive),
        message=f"{form} does not say {words}: {end}",
    )


def left_out(route: Route, reason: str) -> Omission:
    """The note on a route that cannot be written."""
    return Omission(
        subject=f"route/{route.id}", left_out=True, message=f"{reason}: the route is left out"
    )
