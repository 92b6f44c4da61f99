"""Rules as locations: nginx finds the longest prefix or the exact path in a tree.

Where one route takes everything, the location does what it does. Elsewhere it asks a map: its
source is the method, the conditions and the path, its patterns are the routes that come into
question there, first things first. It gives the name of the route's own location.

Called by `render`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from controlplane.adapters.nginx.locations import Locations
from controlplane.adapters.nginx.quoting import comment, without_names, word
from controlplane.adapters.nginx.tests import Tests, Wanted
from controlplane.domain.routing.compiling.choices import choices
from controlplane.domain.routing.compiling.pcre import whole
from controlplane.domain.routing.compiling.places import START, Place, is_certain, places
from controlplane.domain.routing.expressions import of_template
from controlplane.domain.routing.precedence import by_host, order
from controlplane.domain.routing.route import PathMatchType, Route

NO_ROUTE = "!none"
_ANY_METHOD = "[^:]*"
_ASKS = re.compile(r"\{ rewrite \^ (\$sb_l\d+) last; \}")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTable:
    """The locations of some hosts that have the same routes.

    Attributes:
        chosen: names of the routes' own locations that its lists choose from.
    """

    hosts: tuple[str, ...]
    lines: tuple[str, ...]
    chosen: frozenset[str] = frozenset()


@dataclass(slots=True)
class Table:
    """What the servers are made of, as far as rules go.

    Attributes:
        lists: the maps that choose a route.
        crowded: hosts whose parameters need too many places.
    """

    locations: Locations
    tests: Tests = field(default_factory=Tests)
    servers: list[HostTable] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)
    crowded: list[str] = field(default_factory=list)
    _names: dict[tuple[object, ...], str] = field(default_factory=dict)
    _chosen: dict[str, set[str]] = field(default_factory=dict)

    def add(self, routes: Iterable[Route]) -> None:
        """Compile the routes of all hosts."""
        hosts: dict[tuple[str, ...], list[str]] = {}
        tables = by_host(routes)
        for host, found in tables.items():
            hosts.setdefault(tuple(route.id for route in found), []).append(host)
        for same in hosts.values():
            lines = tuple(self._host(tables[same[0]], same[0]))
            chosen = {
                name
                for line in lines
                if (asked := _ASKS.search(line)) is not None
                for name in self._chosen[asked[1]]
            }
            self.servers.append(HostTable(hosts=tuple(same), lines=lines, chosen=frozenset(chosen)))

    def _host(self, routes: Sequence[Route], host: str) -> Iterator[str]:
        kind = PathMatchType.REGULAR_EXPRESSION
        expressions = [route for route in routes if route.path.type is kind]
        found = places(routes)
        if found is None:
            self.crowded.append(host)
            plain = [r for r in routes if r.path.type is not PathMatchType.PATH_TEMPLATE]
            found = places(plain) or ()
        above: dict[tuple[str, ...], str] = {}
        here = (place for place in found if place.state == START)
        for place in sorted(here, key=lambda p: (p.segments, p.ended)):
            body = self._body(place, expressions)
            if body == _nearest(above, place):
                continue
            if not place.ended:
                above[place.segments] = body
            yield f"location {_pattern(place)} {{ {body} }}"

    def _body(self, place: Place, expressions: Sequence[Route]) -> str:
        """What a location does."""
        candidates = self._candidates(place)
        certain = bool(candidates) and is_certain(candidates[-1]) and not place.open
        if not candidates and not expressions:
            return 'return 404 "";'
        if certain and len(candidates) == 1:
            found = choices(candidates[0]) or ()
            if len(found) == 1:
                return self.locations.inline(found[0])
        is_closed = any(is_certain(route) for route in place.routes)
        asked = [*candidates, *(() if is_closed else expressions)]
        checked = {route.id for route in place.open}
        return f"rewrite ^ {self._list(asked, checked)} last;"

    def _candidates(self, place: Place) -> list[Route]:
        kept = []
        sure = {route.id for route in place.routes}
        for route in sorted({r.id: r for r in (*place.routes, *place.open)}.values(), key=order):
            kept.append(route)
            if route.id in sure and is_certain(route):
                break
        return kept

    def _list(self, asked: Sequence[Route], checked: set[str]) -> str:
        """The variable that chooses among routes; those in `checked` compare the path."""
        key = tuple((route.id, route.id in checked) for route in asked)
        if key not in self._names:
            self._names[key] = f"$sb_l{len(self._names)}"
            self.lists.extend(self._map(self._names[key], asked, checked))
        return self._names[key]

    def _map(self, variable: str, asked: Sequence[Route], checked: set[str]) -> Iterator[str]:
        rows = [
            (choice.route, self.locations.own(choice), wanted)
            for route in asked
            for choice in choices(route) or ()
            if (wanted := self.tests.of_choice(choice)) is not None
        ]
        self._chosen[variable] = {target for _, target, _ in rows}
        variables = list(dict.fromkeys(one.variable for _, _, wanted in rows for one in wanted))
        yield f'map "$request_method:{"".join(variables)}:$sb_path" {variable} {{'
        for route, target, wanted in rows:
            yield f"    # route/{comment(route.id)}"
            path = _path(route, checked)
            expression = _row(_methods(route), _flags(wanted, variables), path)
            yield f"    {word('~' + expression)} {target};"
        yield f"    default {NO_ROUTE};"
        yield "}"


def _row(methods: str, flags: str, path: str | None) -> str:
    if path is None:
        return f"^{methods}:{flags}:"
    return whole(f"{methods}:{flags}:{path}")


def _methods(route: Route) -> str:
    return f"(?:{'|'.join(map(re.escape, route.methods))})" if route.methods else _ANY_METHOD


def _flags(wanted: Iterable[Wanted], variables: list[str]) -> str:
    values = {one.variable: one.value for one in wanted}
    return "".join(values.get(variable, ".") for variable in variables)


def _path(route: Route, checked: set[str]) -> str | None:
    """What is compared of the path; None where the location has done it."""
    if route.path.type is PathMatchType.REGULAR_EXPRESSION:
        return f"(?:{without_names(route.path.value)})"
    # No rule but a template has to be compared further.
    return of_template(route.path.value) if route.id in checked else None


def _pattern(place: Place) -> str:
    path = "/" + "/".join(place.segments)
    if place.ended:
        return f"= {word(path)}"
    return word(path if path == "/" else f"{path}/")


def _nearest(above: dict[tuple[str, ...], str], place: Place) -> str | None:
    """What is found with the longest shorter prefix; a path that ends is none with a slash."""
    for count in range(len(place.segments) - 1, -1, -1):
        body = above.get(place.segments[:count])
        if body is not None:
            return body
    return None
