"""The common suite: one table and more than 400 requests, with the decision of our matcher.

Run against a data plane, each answer must have the expected status, and its body is the id of the
route. What a plane decides differently is excluded there by tag, with the reason. Made from the
route model and a seed; the same seed gives the same suite.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from controlplane.domain.routing.matching.normalization import Refusal
from controlplane.domain.routing.matching.table import Table
from controlplane.domain.routing.route import (
    Cohort,
    CohortKey,
    Condition,
    FixedResponse,
    FunctionCall,
    Part,
    PathMatch,
    PathMatchType,
    Route,
    TextMatchType,
)
from controlplane.domain.routing.whitelist import Whitelist
from tests.routing.spellings import SPELLED, spellings
from tests.routing.tables import HOUR_S, Sent, route, sent

SEED = 2026
TABLES = 8
ROUTES_OF_A_TABLE = 14
REQUESTS_OF_A_TABLE = 24
NOT_FOUND = 404


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A request and what must become of it.

    Attributes:
        tags: what is special: `spelling:...`, `condition:...`, `host`, `random`, ...; and of
            the request itself `has:empty-header`, `has:request-id`, `has:repeated-argument`.
        status: of the answer; 200 and 403 come from a route.
        route: id of the route; "" when none was looked at, or none matches.
    """

    name: str
    tags: frozenset[str]
    sent: Sent
    status: int
    route: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """One configuration, and requests to it."""

    routes: tuple[Route, ...]
    whitelists: tuple[Whitelist, ...]
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draw:
    name: str
    tags: frozenset[str]
    sent: Sent


def suite(now_s: float, seed: int = SEED) -> Suite:
    """The suite at a time: some routes ended an hour before it, some begin an hour after."""
    rng = random.Random(seed)
    routes: list[Route] = []
    draws: list[_Draw] = []
    for at in range(TABLES):
        mine, asked = _random_table(rng, f"t{at}", now_s)
        routes += mine
        draws += asked
    routes += (*_conditioned(), *_parts(), *_windows(now_s), *_hosts(), *_listed(), *SPELLED)
    draws += (*_of_conditions(), *_of_parts(), *_of_windows(), *_of_hosts(), *_of_whitelists())
    draws += [
        _Draw(name=f"spelling {kind} {at}", tags=frozenset({f"spelling:{kind}"}), sent=each)
        for at, (kind, each) in enumerate(spellings())
    ]
    whitelists = _whitelists()
    table = Table.of(routes, whitelists)
    cases = tuple(_decided(draw, table, now_s) for draw in draws)
    return Suite(routes=tuple(routes), whitelists=whitelists, cases=cases)


def _decided(draw: _Draw, table: Table, now_s: float) -> Case:
    tags = draw.tags | set(_traits(draw.sent))
    request = draw.sent.read()
    if isinstance(request, Refusal):
        return Case(name=draw.name, tags=tags, sent=draw.sent, status=request.status)
    found = table.match(request, now_s).route
    if found is None:
        return Case(name=draw.name, tags=tags, sent=draw.sent, status=NOT_FOUND)
    assert found.response is not None
    status = found.response.status
    return Case(name=draw.name, tags=tags, sent=draw.sent, status=status, route=found.id)


def _traits(each: Sent) -> Iterator[str]:
    """What data planes may see differently in any request."""
    if any(value == "" for _, value in each.headers):
        yield "has:empty-header"
    if any(name == "x-request-id" for name, _ in each.headers):
        yield "has:request-id"
    names = [part.partition("=")[0] for part in each.target.partition("?")[2].split("&")]
    if len(set(names)) < len(names):
        yield "has:repeated-argument"


def answering(name: str, value: str, host: str, **changes: object) -> Route:
    """A route that answers with its own id."""
    kind = changes.pop("kind", PathMatchType.PATH_PREFIX)
    assert isinstance(kind, PathMatchType)
    return Route(
        id=name,
        path=PathMatch(type=kind, value=value),
        hosts=(host,),
        response=FixedResponse(status=200, body=name),
        **changes,  # type: ignore[arg-type]
    )


def _random_table(rng: random.Random, name: str, now_s: float) -> tuple[list[Route], list[_Draw]]:
    hosts = (f"{name}.example.com", f"*.{name}.example.com")
    routes = [route(rng, f"{name}-r{at:02}", hosts, now_s) for at in range(ROUTES_OF_A_TABLE)]
    asked = (hosts[0], f"www.{name}.example.com", f"a.b.{name}.example.com")
    draws = [
        _Draw(
            name=f"random {name} {at}",
            tags=frozenset({"random"}),
            sent=sent(rng, routes, asked),
        )
        for at in range(REQUESTS_OF_A_TABLE)
    ]
    return routes, draws


CONDITIONED = "conditions.example.com"
_VALUES = {
    TextMatchType.EXACT: "gold",
    TextMatchType.PREFIX: "go",
    TextMatchType.REGULAR_EXPRESSION: "g[a-z]{3}",
    TextMatchType.PRESENT: "",
    TextMatchType.ABSENT: "",
}
# Values that a part may have; None is that it is not there.
_GIVEN = (None, "gold", "good", "GOLD", "silver", "xgold", "goldx", "")


def _conditioned() -> Iterator[Route]:
    """For each part and type a route with the condition; what does not meet it falls through."""
    yield answering("conditions-all", "/", CONDITIONED)
    for part, kind in product(Part, TextMatchType):
        name = f"{part.value}-{kind.value.lower()}"
        condition = Condition(part=part, name="x-plan", type=kind, value=_VALUES[kind])
        yield answering(f"conditions-{name}", f"/{name}", CONDITIONED, conditions=(condition,))


def _of_conditions() -> Iterator[_Draw]:
    for part, kind, given in product(Part, TextMatchType, _GIVEN):
        name = f"{part.value}-{kind.value.lower()}"
        if given == "" and part is not Part.QUERY_PARAM:
            continue
        yield _Draw(
            name=f"condition {name} {given}",
            tags=frozenset({f"condition:{name}"}),
            sent=_with(part, given, f"/{name}/x"),
        )


def _with(part: Part, given: str | None, target: str) -> Sent:
    if given is None:
        return Sent(target=target, host=CONDITIONED)
    if part is Part.QUERY_PARAM:
        return Sent(target=f"{target}?a=b&x-plan={given}&c", host=CONDITIONED)
    header = ("X-Plan", given) if part is Part.HEADER else ("cookie", f"a=b; x-plan={given}; c=d")
    return Sent(target=target, host=CONDITIONED, headers=(header,))


PARTED = "parts.example.com"


def _parts() -> Iterator[Route]:
    """Methods, addresses, functions, cohorts and priorities, each at its own path."""
    yield answering("parts-all", "/", PARTED)
    yield answering("parts-post", "/method", PARTED, methods=("POST", "PUT"))
    yield answering("parts-near", "/source", PARTED, sources=("127.0.9.0/24", "127.0.8.8/32"))
    risk = FunctionCall(name="risk_level", arguments=(("at_least", "4"), ("at_most", "6")))
    yield answering("parts-risk", "/risk", PARTED, functions=(risk,))
    bot = FunctionCall(name="user_agent_family", arguments=(("family", "bot"),))
    yield answering("parts-bot", "/bot", PARTED, functions=(bot,))
    for by, (low, high) in product(CohortKey, ((0, 500), (0, 2_000), (500, 10_000), (0, 10_000))):
        chosen = Cohort(by=by, low=low, high=high)
        name = f"{by.value}-{low}-{high}"
        yield answering(f"parts-{name}", f"/{name}", PARTED, cohort=chosen)
    yield answering("parts-low", "/priority", PARTED, priority=1)
    yield answering("parts-high", "/priority", PARTED, priority=2)
    yield answering("parts-first-by-id", "/same/{x}", PARTED, kind=PathMatchType.PATH_TEMPLATE)
    yield answering("parts-second-by-id", "/same/{y}", PARTED, kind=PathMatchType.PATH_TEMPLATE)


def _of_parts() -> Iterator[_Draw]:
    for method in ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        yield _part("method", Sent(target="/method", host=PARTED, method=method))
    for source in ("127.0.0.1", "127.0.9.0", "127.0.9.255", "127.0.10.0", "127.0.8.8", "127.0.8.9"):
        yield _part("source", Sent(target="/source", host=PARTED, source=source))
    for level in ("3", "4", "6", "7", "44", "-4", "x"):
        yield _part("function", _headed("/risk", ("x-risk-level", level)))
    for agent in ("Mozilla/5.0", "GoogleBot/2.1", "curl/8", "x python-requests"):
        yield _part("function", _headed("/bot", ("user-agent", agent)))
    for low, high in ((0, 500), (0, 2_000), (500, 10_000), (0, 10_000)):
        # The number of 0x0ccc is the last below 500, that of 0x3333 the last below 2,000.
        for digits in ("0000", "0ccc", "0ccd", "0CCC", "3333", "3334", "ffff", "zzzz", "0c", ""):
            cookie = ("cookie", f"signalbox_sid={digits}" if digits else "a=b")
            yield _part("cohort", _headed(f"/user-{low}-{high}", cookie))
            if digits:
                named = ("x-request-id", digits)
                yield _part("request-id", _headed(f"/request-{low}-{high}", named))
    yield _part("priority", Sent(target="/priority/x", host=PARTED))
    yield _part("priority", Sent(target="/same/x", host=PARTED))


def _headed(target: str, header: tuple[str, str]) -> Sent:
    return Sent(target=target, host=PARTED, headers=(header,))


def _part(tag: str, each: Sent) -> _Draw:
    detail = f"{each.method} {each.host} {each.target} {each.source} {dict(each.headers)}"
    return _Draw(name=f"{tag} {detail}", tags=frozenset({tag}), sent=each)


def _windows(now_s: float) -> Iterator[Route]:
    host = "windows.example.com"
    yield answering("windows-all", "/", host)
    yield answering("windows-over", "/over", host, valid_until_s=now_s - HOUR_S)
    yield answering("windows-later", "/later", host, valid_from_s=now_s + HOUR_S)
    yield answering(
        "windows-now", "/now", host, valid_from_s=now_s - HOUR_S, valid_until_s=now_s + HOUR_S
    )
    # A host all of whose routes are over has no table of its own.
    yield answering("windows-host", "/", "over.example.com", valid_until_s=now_s - HOUR_S)


def _of_windows() -> Iterator[_Draw]:
    for name in ("over", "later", "now"):
        yield _part("window", Sent(target=f"/{name}", host="windows.example.com"))
    yield _part("window", Sent(target="/", host="over.example.com"))


def _hosts() -> Iterator[Route]:
    for name, host in (
        ("exact", "shop.example.com"),
        ("wildcard", "*.example.com"),
        ("longer", "*.shop.example.com"),
        ("every", "*"),
    ):
        yield answering(f"hosts-{name}", "/", host)
        yield answering(f"hosts-{name}-only", f"/only-{name}", host)


BROKEN_HOSTS = ("shop.example.com..",)


def _of_hosts() -> Iterator[_Draw]:
    hosts = (
        "shop.example.com", "SHOP.Example.COM", "shop.example.com:8080", "shop.example.com.",
        "a.shop.example.com", "a.b.shop.example.com", "xshop.example.com", "other.example.com",
        "example.com", "example.org", "localhost", "127.0.0.1", "[::1]:80",
        "shop.example.com:", "shop.example.com:080", "shop.example.com.:80", *BROKEN_HOSTS,
    )  # fmt: skip
    for host, path in product(hosts, ("/", "/only-exact", "/only-wildcard/x", "/only-every")):
        name, sign, _ = host.partition(":80")
        tag = "host-dot" if name.endswith(".") else "host-port" if sign else "host"
        tag = "host-broken" if host in BROKEN_HOSTS else tag
        yield _part(tag, Sent(target=path, host=host))


LISTED, CLOSED = "listed.example.com", "closed.example.com"


def _listed() -> Iterator[Route]:
    """On hosts of whitelists, behind the refusal."""
    for host in (LISTED, CLOSED):
        name = host.partition(".")[0]
        expression = PathMatchType.REGULAR_EXPRESSION
        yield answering(f"{name}-number", "/n[0-9]+", host, kind=expression)
        yield answering(f"{name}-rest", "/", host)


def _whitelists() -> tuple[Whitelist, ...]:
    app = Condition(name="x-channel", value="app")
    return (
        Whitelist(id="site", hosts=(LISTED,), channel=(app,)),
        Whitelist(id="all", hosts=(CLOSED,), status=403),
    )


def _of_whitelists() -> Iterator[_Draw]:
    paths = ("/listed", "/listed/x", "/other", "/n7")
    for host, channel, path in product((LISTED, CLOSED), ("app", "web", None), paths):
        headers = () if channel is None else (("x-channel", channel),)
        yield _part("whitelist", Sent(target=path, host=host, headers=headers))
