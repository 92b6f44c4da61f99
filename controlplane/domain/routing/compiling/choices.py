"""Choices: a route as tests and one version of its service, for data planes without hashing.

A split over versions is one choice for each version, told apart by the number of the user (or of
the request, before he has a cookie) as with cohorts. So nobody changes his version while the
weights stay, and of a version that grows nobody leaves. Called by compilers.
"""

from dataclasses import dataclass

from controlplane.domain.routing.matching import cohorts, functions
from controlplane.domain.routing.matching.functions import Registry
from controlplane.domain.routing.matching.provided_functions import PROVIDED
from controlplane.domain.routing.route import Cohort, Route

EVERY_VERSION = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One outcome of a route.

    Attributes:
        route: with plain conditions instead of functions.
        version: `*` is the service as a whole.
        digits: regular expression of the four digits that a number must begin with; "" is any.
    """

    route: Route
    version: str = EVERY_VERSION
    digits: str = ""


def choices(route: Route, registry: Registry = PROVIDED) -> tuple[Choice, ...] | None:
    """The choices of a route in order; the last one takes what is left.

    Returns:
        None when a match function has no plain conditions.
    """
    plain = functions.lowered(route, registry)
    if plain is None:
        return None
    weights = [one for one in route.versions if one.weight > 0]
    if not weights:
        return (Choice(route=plain),)
    found, low = [], 0
    for one in weights[:-1]:
        part = Cohort(low=low, high=low + one.weight)
        digits = cohorts.expression(part)
        found.append(Choice(route=plain, version=one.version, digits=digits))
        low += one.weight
    return (*found, Choice(route=plain, version=weights[-1].version))
