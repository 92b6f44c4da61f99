"""What is exported and imported again is the same, where the format can say all of it."""

from dataclasses import fields, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.api.route_documents.formats import RouteFormat, read, write
from controlplane.api.route_documents.imports import Declared, ImportWish
from controlplane.domain.fleet_order import ordered
from controlplane.domain.routing.route import (
    WHOLE,
    Cohort,
    CohortKey,
    Condition,
    FixedResponse,
    FunctionCall,
    HeaderChanges,
    Part,
    PathMatch,
    PathMatchType,
    Redirect,
    Rewrite,
    Route,
    RouteCheck,
    SlowQueue,
    TextMatchType,
    VersionWeight,
)
from controlplane.domain.topology import Fleet

DECLARED = Declared(
    services={"tickets": frozenset({"v1", "v2"}), "orders": frozenset()},
    groups=frozenset({"edge", "inner"}),
    callers=frozenset({"keys", "tokens"}),
    certificates=frozenset({"shop"}),
)
WISH = ImportWish(declared=DECLARED)

words = st.text("abcdefgh", min_size=1, max_size=6)
names = st.builds("{}-{}".format, words, st.integers(0, 999))
segments = st.one_of(words, st.sampled_from(["A.b", "x_y~z", "%C3%A9", "a,b;c=d", "@", "$&+!'()*"]))
hosts = st.one_of(
    st.just(("*",)),
    st.lists(st.sampled_from(["a.example", "b.example", "*.c.example"]), min_size=1, unique=True),
).map(tuple)
values = st.text(
    "abc XYZ,;=\"'\\%{}[]().*+?|^$/:<>&é".replace("é", ""), min_size=1, max_size=12
).map(lambda text: f"v{text}v")


def subset(*choices: str) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(choices), unique=True).map(tuple)


exact = st.lists(segments, min_size=1, max_size=4).map(
    lambda parts: PathMatch(type=PathMatchType.EXACT, value="/" + "/".join(parts))
)
prefixes = st.lists(words, max_size=4).map(lambda parts: PathMatch(value="/" + "/".join(parts)))
templates = st.lists(words, min_size=1, max_size=3).map(
    lambda parts: PathMatch(
        type=PathMatchType.PATH_TEMPLATE,
        value="".join(f"/{part}/{{p{at}}}" for at, part in enumerate(parts)),
    )
)
expressions = st.sampled_from(["/a/[0-9]+", "/(x|y)/.*", "/f\\.json"]).map(
    lambda value: PathMatch(type=PathMatchType.REGULAR_EXPRESSION, value=value)
)
said_by_http_route = (TextMatchType.EXACT, TextMatchType.PRESENT)


@st.composite
def conditions(
    draw: st.DrawFn, parts: tuple[Part, ...], kinds: tuple[TextMatchType, ...]
) -> tuple[Condition, ...]:
    found = {}
    for part, name in draw(st.lists(st.tuples(st.sampled_from(parts), words), max_size=3)):
        kind = draw(st.sampled_from(kinds))
        without = kind in (TextMatchType.PRESENT, TextMatchType.ABSENT)
        regex = kind is TextMatchType.REGULAR_EXPRESSION
        value = "" if without else "[a-z]+ x" if regex else draw(values)
        found[part, name] = Condition(part=part, name=name, type=kind, value=value)
    return tuple(found.values())


headers = st.one_of(
    st.none(),
    st.builds(
        HeaderChanges,
        set=st.dictionaries(words.map(lambda word: f"x-{word}"), values, min_size=1).map(
            lambda pairs: tuple(sorted(pairs.items()))
        ),
        remove=subset("y-one", "y-two"),
    ),
)
versions = st.one_of(
    st.just(()),
    st.integers(1, WHOLE - 1).map(
        lambda share: (
            VersionWeight(version="v1", weight=share),
            VersionWeight(version="v2", weight=WHOLE - share),
        )
    ),
)
rewrites = st.one_of(
    st.none(),
    st.builds(Rewrite, host=st.just("inner.example"), path=st.sampled_from(["", "/new"])),
)


@st.composite
def to_services(draw: st.DrawFn, route: Route) -> Route:
    """The route with a service and what belongs to one; all of it has words in an HTTPRoute."""
    chosen = draw(versions)
    rewrite = draw(rewrites)
    if route.path.type is PathMatchType.PATH_PREFIX and draw(st.booleans()):
        rewrite = Rewrite(prefix=draw(st.sampled_from(["/", "/new/place"])))
    return replace(
        route,
        service="tickets" if chosen else draw(st.sampled_from(["tickets", "orders"])),
        versions=chosen,
        rewrite=rewrite,
        request_headers=draw(headers),
        timeout_ms=draw(st.one_of(st.none(), st.integers(1, 3_600_000))),
        retries=draw(st.one_of(st.none(), st.integers(0, 100))),
    )


redirects = st.builds(
    Redirect,
    status=st.sampled_from([301, 302, 303, 307, 308]),
    scheme=st.sampled_from(["", "http", "https"]),
    host=st.sampled_from(["new.example", "new.example:8443"]),
    path=st.sampled_from(["", "/there"]),
)


@st.composite
def for_http_route(draw: st.DrawFn) -> Route:
    route = Route(
        id=draw(names),
        path=draw(st.one_of(exact, prefixes, expressions)),
        hosts=draw(hosts),
        methods=draw(subset("GET", "POST", "DELETE")),
        conditions=draw(conditions((Part.HEADER, Part.QUERY_PARAM), said_by_http_route)),
        gateways=draw(subset("edge", "inner")),
        response_headers=draw(headers),
    )
    if draw(st.booleans()):
        return replace(route, redirect=draw(redirects))
    return draw(to_services(route))


@st.composite
def for_csv(draw: st.DrawFn) -> Route:
    """All of the model."""
    route = draw(for_http_route())
    more = replace(
        route,
        conditions=draw(conditions(tuple(Part), tuple(TextMatchType))),
        sources=draw(subset("10.0.0.0/8", "2001:db8::/32")),
        functions=draw(
            st.sampled_from([(), (FunctionCall(name="language", arguments=(("first", "fr"),)),)])
        ),
        cohort=draw(st.sampled_from([None, Cohort(by=CohortKey.REQUEST, low=10, high=500)])),
        priority=draw(st.integers(-1000, 1000)),
        transform=draw(st.sampled_from(["", "plain"])),
        authentication=draw(subset("keys", "tokens")),
        valid_from_s=draw(st.one_of(st.none(), st.integers(0, 10**9).map(float))),
        valid_until_s=draw(st.one_of(st.none(), st.integers(10**9 + 1, 2 * 10**9).map(float))),
        tls=draw(st.sampled_from(["", "shop"])),
        labels=draw(st.dictionaries(words, values).map(lambda pairs: tuple(pairs.items()))),
        checks=draw(st.sampled_from([(), (RouteCheck(path="/a?b", headers=(("x-a", "1"),)),)])),
    )
    if more.service:
        return replace(more, queue=draw(st.sampled_from([None, SlowQueue(concurrent=3)])))
    if draw(st.booleans()):
        return replace(more, redirect=None, response=FixedResponse(status=404, body='no,\n"no"'))
    return more


@st.composite
def for_openapi(draw: st.DrawFn) -> Route:
    path = draw(st.one_of(exact, templates))
    plain = draw(st.sampled_from([("*",), ("a.example",), ("a.example", "b.example")]))
    methods = draw(st.lists(st.sampled_from(["GET", "PUT", "POST"]), min_size=1, unique=True))
    return Route(
        id=draw(names),
        service=draw(st.sampled_from(["tickets", "orders"])),
        path=path,
        hosts=plain,
        methods=tuple(methods),
    )


def of_ids(routes: list[Route]) -> list[Route]:
    return sorted((ordered(route) for route in routes), key=lambda route: route.id)


def back(routes: list[Route], form: RouteFormat) -> list[Route]:
    exported = write(routes, form, Fleet())
    assert exported.notes == ()
    imported = read(exported.text, form, WISH, now_s=0.0)
    assert imported.findings.kept == []
    return of_ids([draft.route for draft in imported.routes])


def several(routes: st.SearchStrategy[Route]) -> st.SearchStrategy[list[Route]]:
    return st.lists(routes, max_size=4, unique_by=lambda route: route.id)


@settings(deadline=None, max_examples=15)
@given(several(for_csv()))
def test_a_table_says_everything(routes: list[Route]) -> None:
    assert back(routes, RouteFormat.CSV) == of_ids(routes)


@settings(deadline=None, max_examples=15)
@given(several(for_http_route()))
def test_http_routes_come_back(routes: list[Route]) -> None:
    assert back(routes, RouteFormat.HTTP_ROUTE) == of_ids(routes)


@settings(deadline=None, max_examples=15)
@given(st.lists(for_openapi(), max_size=4, unique_by=(lambda r: r.id, lambda r: r.path.value)))
def test_descriptions_come_back(routes: list[Route]) -> None:
    assert back(routes, RouteFormat.OPENAPI) == of_ids(routes)


@settings(deadline=None, max_examples=15)
@given(several(for_csv()), st.sampled_from([RouteFormat.OPENAPI, RouteFormat.HTTP_ROUTE]))
def test_what_comes_back_otherwise_has_a_note(routes: list[Route], form: RouteFormat) -> None:
    exported = write(routes, form, Fleet())
    noted = {note.subject.removeprefix("route/") for note in exported.notes}
    left_out = {n.subject.removeprefix("route/") for n in exported.notes if n.left_out}
    came = {d.route.id: d.route for d in read(exported.text, form, WISH, now_s=0.0).routes}
    for route in routes:
        assert (route.id in came) == (route.id not in left_out)
        if route.id not in noted:
            assert same_but_conditions(came[route.id], ordered(route))


def same_but_conditions(one: Route, other: Route) -> bool:
    """Equal, but for prefixes of values, which an HTTPRoute writes as expressions."""
    names = {field.name for field in fields(Route)} - {"conditions"}
    return all(getattr(one, name) == getattr(other, name) for name in names)
