"""Routes written short, for tests."""

from typing import Any

from controlplane.domain.routing.route import Condition, PathMatch, PathMatchType, Route

KINDS = {
    "=": PathMatchType.EXACT,
    "~": PathMatchType.REGULAR_EXPRESSION,
    "?": PathMatchType.PATH_TEMPLATE,
}


def routed(name: str, path: str = "/", **changes: Any) -> Route:
    """`=/x` is an exact path, `~/x` an expression, `?/{x}` a template, `/x` a prefix."""
    kind = KINDS.get(path[0], PathMatchType.PATH_PREFIX)
    value = path if kind is PathMatchType.PATH_PREFIX else path[1:]
    return Route(id=name, service="s", path=PathMatch(type=kind, value=value), **changes)


def header(name: str, value: str = "1") -> tuple[Condition, ...]:
    """One condition on a header."""
    return (Condition(name=name, value=value),)
