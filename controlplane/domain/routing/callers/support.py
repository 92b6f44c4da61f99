"""What a data plane cannot check of its callers, as findings; it refuses what it cannot check.

Called by each plane's compiler with the methods that it knows.
"""

from collections.abc import Collection, Iterable

from controlplane.domain.findings import Observation, Severity
from controlplane.domain.routing.callers.policies import CallerMethod, CallerPolicy
from controlplane.domain.routing.route import Route

MOST_NAMED = 5


def unchecked(
    policies: Iterable[CallerPolicy], methods: Collection[CallerMethod]
) -> frozenset[str]:
    """Names of the policies whose method a plane does not know."""
    return frozenset(policy.name for policy in policies if policy.method not in methods)


def refused_routes(routes: Iterable[Route], unknown: Collection[str]) -> tuple[Route, ...]:
    """The routes that nobody can call on a plane, because it checks none of their policies."""
    return tuple(
        route
        for route in routes
        if route.authentication and all(name in unknown for name in route.authentication)
    )


def unsupported(
    plane: str,
    methods: Collection[CallerMethod],
    policies: Iterable[CallerPolicy],
    routes: Collection[Route],
) -> tuple[Observation, ...]:
    """A finding for each policy that routes name and a plane cannot check, or nobody declares.

    Args:
        plane: its name, as people write it.
    """
    known = {policy.name: policy.method for policy in policies}
    used = {name for route in routes for name in route.authentication}
    unknown = {name for name in used if known.get(name) not in methods}
    closed = refused_routes(routes, unknown)
    return tuple(
        Observation(
            code="caller_policy_unsupported",
            subject=f"caller/{name}",
            message=f"{plane} cannot check caller policy {name}, which is "
            f"{_kind(known.get(name))}: let the routes that name it accept a policy of "
            f"{_listed(methods)} too, or keep them to gateways that can",
            held=_held(name, closed),
            severity=Severity.WARNING,
        )
        for name in sorted(unknown)
    )


def _kind(method: CallerMethod | None) -> str:
    return "not declared" if method is None else f"of {method}"


def _listed(methods: Collection[CallerMethod]) -> str:
    return ", ".join(sorted(methods)) or "another plane"


def _held(policy: str, closed: Iterable[Route]) -> str:
    names = sorted(route.id for route in closed if policy in route.authentication)
    if not names:
        return "callers of this policy are refused there; other policies of its routes count"
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"every request for {', '.join(names[:MOST_NAMED])}{more} is refused there"
