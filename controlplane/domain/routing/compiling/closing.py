"""Guards that a data plane cannot compare: they refuse everybody at their place.

A route that keeps somebody out (callers are asked who they are, or the answer is a refusal) would,
left out, let in whom it should keep out. Called by compilers of planes that can close a place.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from controlplane.domain.findings import Observation
from controlplane.domain.routing.compiling.selection import Selection
from controlplane.domain.routing.route import Route
from controlplane.domain.routing.whitelist import Whitelist, refusal

# Left out for ever, whoever asks; or still there, and refusing.
_HARMLESS = ("route_path_never_matches", "route_action_refused")
_REFUSALS = 400
_PREFIX = "route/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """Routes of a group with its guards.

    Attributes:
        closed: ids of those that refuse everybody at their place.
    """

    routes: tuple[Route, ...]
    closed: frozenset[str]
    notes: tuple[Observation, ...]


def closing(
    found: Selection, routes: Iterable[Route], whitelists: Iterable[Whitelist], gateway: str
) -> Closing:
    """What a group gets when the guards that were left out close their places.

    Args:
        routes, whitelists: all that are declared.
    """
    guards = dict(_guards((*routes, *map(refusal, whitelists)), gateway))
    lost = {_id(note) for note in found.notes if note.code not in _HARMLESS}
    closed = frozenset(lost & guards.keys())
    return Closing(
        routes=(*found.routes, *(guards[name] for name in sorted(closed))),
        closed=closed,
        notes=tuple(_told(note) if _id(note) in closed else note for note in found.notes),
    )


def _guards(routes: Iterable[Route], gateway: str) -> Iterator[tuple[str, Route]]:
    """Routes of a gateway group that keep somebody out, by id."""
    for route in routes:
        refuses = route.response is not None and route.response.status >= _REFUSALS
        here = not route.gateways or gateway in route.gateways
        if here and (route.authentication or refuses):
            yield route.id, route


def _id(note: Observation) -> str:
    return note.subject.removeprefix(_PREFIX)


def _told(note: Observation) -> Observation:
    return replace(note, held="everybody gets 403 at its host, path and methods")
