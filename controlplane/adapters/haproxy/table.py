"""Rules as maps: how a request finds its backend section with a few lookups.

`map_beg` finds the longest key that a text begins with, in a tree. The text is a state, the path
from there and `/?` at its end, so a key is whole segments and may ask for the end. What it finds:

    s.NAME, r.NAME  the section; none is that no route matches
    pD.STATE        skip D segments and one more, look up the rest in that state
    mN              look up `mN:METHOD:`
    cN              lines that test conditions, first things first
    xN              the same with regular expressions of host table N

Called by `render`; read by `frontend`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from controlplane.adapters.haproxy.quoting import comment
from controlplane.adapters.haproxy.targets import NO_ROUTE, Targets
from controlplane.adapters.haproxy.tests import Tests
from controlplane.domain.routing.compiling.choices import choices
from controlplane.domain.routing.compiling.places import START, Place, is_certain, places
from controlplane.domain.routing.precedence import by_host
from controlplane.domain.routing.route import PathMatchType, Route

EVERY_HOST = "*"


@dataclass(slots=True)
class Table:
    """What a frontend is made of, as far as rules go.

    Attributes:
        paths: the entries of `routes.map`; hosts: name or `*.suffix` -> number of its table.
        lines: tests of conditions and expressions, in order.
        skips: for the first parameter of a path, the second..., how many segments may stand
            between it and what was skipped before.
        crowded: hosts whose parameters need too many places.
    """

    targets: Targets = field(default_factory=Targets)
    tests: Tests = field(default_factory=Tests)
    paths: dict[str, str] = field(default_factory=dict)
    hosts: dict[str, int] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    skips: list[set[int]] = field(default_factory=list)
    crowded: list[str] = field(default_factory=list)
    has_methods: bool = False
    _lists: dict[tuple[object, ...], str] = field(default_factory=dict)

    @property
    def only(self) -> int | None:
        """The table of every host, when there is no other."""
        return self.hosts.get(EVERY_HOST) if len(self.hosts) == 1 else None


def compiled(routes: Iterable[Route]) -> Table:
    """The table of all hosts; functions of the routes have plain conditions."""
    table = Table()
    numbers: dict[tuple[str, ...], int] = {}
    for host, found in by_host(routes).items():
        same = tuple(route.id for route in found)
        if same not in numbers:
            numbers[same] = len(numbers)
            _HostTable(table, numbers[same], found).compile(host)
        table.hosts[host] = numbers[same]
    if table.only is not None:
        # Nothing tells tables apart, so a path is looked up as it is.
        begins = f"t{table.only}q{START}"
        table.paths = {key.removeprefix(begins): value for key, value in table.paths.items()}
    return table


@dataclass(slots=True)
class _HostTable:
    table: Table
    number: int
    routes: Sequence[Route]
    expressions: list[Route] = field(default_factory=list)

    def compile(self, host: str) -> None:
        kind = PathMatchType.REGULAR_EXPRESSION
        self.expressions = [route for route in self.routes if route.path.type is kind]
        found = places(self.routes)
        if found is None:
            self.table.crowded.append(host)
            plain = [r for r in self.routes if r.path.type is not PathMatchType.PATH_TEMPLATE]
            found = places(plain) or ()
        self._add_paths(found)
        if self.expressions:
            self._add_lines(f"x{self.number}", self.expressions, NO_ROUTE)

    def _add_paths(self, found: Iterable[Place]) -> None:
        values: dict[tuple[int, tuple[str, ...]], str] = {}
        for place in sorted(found, key=lambda p: (p.state, p.segments, p.ended)):
            value = self._value(place)
            # A key that says the same as the one above it is left out.
            if value == _nearest(values, place):
                continue
            if not place.ended:
                values[place.state, place.segments] = value
            self.table.paths[self._key(place)] = value
        for level, skips in enumerate(_skips(found)):
            self.table.skips.extend([set()] * (level + 1 - len(self.table.skips)))
            self.table.skips[level] |= skips

    def _key(self, place: Place) -> str:
        text = "/".join((f"t{self.number}q{place.state}", *place.segments))
        return f"{text}/?" if place.ended else f"{text}/"

    def _value(self, place: Place) -> str:
        if place.onward is not None:
            return f"p{len(place.segments)}.t{self.number}q{place.onward}"
        return self._list(place.routes)

    def _list(self, routes: Sequence[Route]) -> str:
        """What the routes at a place come to; those behind them are the expressions."""
        tail = f"x{self.number}" if self.expressions else NO_ROUTE
        methods = sorted({method for route in routes for method in route.methods})
        if not methods:
            return self._tested(routes, tail)
        by_method = {
            method: self._tested(_with_method(routes, method), tail) for method in (*methods, "")
        }
        if len(set(by_method.values())) == 1:
            return by_method[""]
        self.table.has_methods = True
        key = ("methods", tuple(by_method.items()))
        if key not in self.table._lists:
            number = self.table._lists[key] = f"m{len(self.table._lists)}"
            for method, value in by_method.items():
                self.table.paths[f"{number}:{method}:" if method else f"{number}:"] = value
        return self.table._lists[key]

    def _tested(self, routes: Sequence[Route], tail: str) -> str:
        """Routes without regard to methods: a section, or the name of lines that choose one."""
        key = (tail if not routes or not _is_closed(routes) else "", *(r.id for r in routes))
        if key not in self.table._lists:
            self.table._lists[key] = self._made(routes, tail)
        return self.table._lists[key]

    def _made(self, routes: Sequence[Route], tail: str) -> str:
        if not routes:
            return tail
        if _has_no_test(routes[0]) and (only := self._only_target(routes[0])) is not None:
            return only
        name = f"c{len(self.table._lists)}"
        self._add_lines(name, routes, tail)
        return name

    def _only_target(self, route: Route) -> str | None:
        found = choices(route) or ()
        return self.table.targets.of(found[0]) if len(found) == 1 else None

    def _add_lines(self, name: str, routes: Iterable[Route], tail: str) -> None:
        here = f"{{ var(txn.s) -m str {name} }}"
        lines = self.table.lines
        for route in routes:
            lines.append(f"# route/{comment(route.id)}")
            path = ""
            if route.path.type is PathMatchType.REGULAR_EXPRESSION:
                path = f" {self.table.tests.of_path(route.path)}"
                if route.methods:
                    path += f" {{ method {' '.join(route.methods)} }}"
            for choice in choices(route) or ():
                tests = self.table.tests.of_choice(choice)
                if tests is not None:
                    target = self.table.targets.of(choice)
                    lines.append(
                        f"http-request set-var(txn.s) str({target}) if {here}{path} {tests}".strip()
                    )
        lines.append(f"http-request set-var(txn.s) str({tail}) if {here}")


def _nearest(values: Mapping[tuple[int, tuple[str, ...]], str], place: Place) -> str | None:
    """What is found with the longest shorter key."""
    for count in range(len(place.segments) - (not place.ended), -1, -1):
        value = values.get((place.state, place.segments[:count]))
        if value is not None:
            return value
    return None


def _skips(found: Iterable[Place]) -> Iterator[set[int]]:
    """How many segments are skipped from the first states, from those behind them, and so on."""
    onward: dict[int, list[Place]] = {}
    for place in found:
        if place.onward is not None:
            onward.setdefault(place.state, []).append(place)
    reached = {START}
    while steps := [place for state in reached for place in onward.get(state, ())]:
        yield {len(place.segments) for place in steps}
        reached = {place.onward for place in steps if place.onward is not None}


def _with_method(routes: Iterable[Route], method: str) -> list[Route]:
    kept = []
    for route in routes:
        if not route.methods or method in route.methods:
            kept.append(route)
            if _has_no_test(route):
                break
    return kept


def _has_no_test(route: Route) -> bool:
    timed = route.valid_from_s is not None or route.valid_until_s is not None
    return not (route.condition_count or timed)


def _is_closed(routes: Sequence[Route]) -> bool:
    return is_certain(routes[-1]) or _has_no_test(routes[-1])
