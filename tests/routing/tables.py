"""Routes and requests by chance: few words, so that paths meet, shadow and fall through.

Used by the property tests of the matcher and by `tests.routing.suite`. Each route answers by
itself, with its id as body, so that a data plane shows what it decided.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.domain.routing.matching.normalization import Refusal
from controlplane.domain.routing.matching.request import STICKY_COOKIE, Request
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

WORDS = ("a", "b", "c", "api", "v1")
METHODS = ("GET", "POST", "PUT", "DELETE")
HOUR_S = 3_600.0

# Regular expressions over whole paths, and paths that each matches.
EXPRESSIONS = (
    ("/[a-c]+", ("/a", "/cab")),
    ("/api/[0-9]{1,3}", ("/api/7", "/api/123")),
    ("/(a|b)/.*", ("/a/", "/b/c/x")),
    ("/[^/]+/c", ("/v1/c", "/zz/c")),
    ("/v1(/[a-z]+)*", ("/v1", "/v1/a/zz")),
    ("/a.*z", ("/a/b/z", "/az")),
)
CONDITIONS = (
    Condition(name="x-channel", value="app"),
    Condition(name="user-agent", type=TextMatchType.PREFIX, value="Mozilla/"),
    Condition(name="x-level", type=TextMatchType.REGULAR_EXPRESSION, value="[3-9]|[1-9][0-9]+"),
    Condition(name="x-test", type=TextMatchType.PRESENT),
    Condition(name="x-test", type=TextMatchType.ABSENT),
    Condition(part=Part.QUERY_PARAM, name="lang", value="zh"),
    Condition(part=Part.QUERY_PARAM, name="debug", type=TextMatchType.PRESENT),
    Condition(part=Part.QUERY_PARAM, name="lang", type=TextMatchType.ABSENT),
    Condition(part=Part.COOKIE, name="plan", value="gold"),
    Condition(part=Part.COOKIE, name="plan", type=TextMatchType.PREFIX, value="go"),
)
HEADERS = (
    ("x-channel", "app"),
    ("x-channel", "web"),
    ("user-agent", "Mozilla/5.0"),
    ("user-agent", "curl/8.0 (a bot)"),
    ("x-level", "7"),
    ("x-level", "1"),
    ("x-risk-level", "5"),
    ("x-test", "1"),
    ("x-test", ""),
)
QUERIES = ("", "", "lang=zh", "lang=en&debug", "debug=", "lang=en&lang=zh", "a=b&lang=zh&c")
COOKIES = ("plan=gold", "plan=good; x=1", "x=1; plan=silver", "other=plan=gold")
SOURCES = ("127.0.0.1", "127.0.9.7", "127.0.9.200")
NETWORKS = (("127.0.9.0/24",), ("127.0.9.7/32", "127.0.8.0/24"), ("127.0.0.0/30",))
FUNCTIONS = (
    FunctionCall(name="risk_level", arguments=(("at_least", "4"),)),
    FunctionCall(name="user_agent_family", arguments=(("family", "bot"),)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A request as a client writes it; characters of the target beyond ASCII are latin-1 bytes."""

    target: str
    method: str = "GET"
    host: str = "localhost"
    headers: tuple[tuple[str, str], ...] = ()
    source: str = "127.0.0.1"

    def read(self) -> Request | Refusal:
        """The request as our matcher reads it."""
        return Request.of(self.target, self.method, self.host, self.headers, self.source)


def route(rng: random.Random, name: str, hosts: Sequence[str], now_s: float) -> Route:
    """A route that answers with its own id."""
    count = rng.choice((0, 0, 0, 1, 1, 2))
    began, ended = rng.choice(((None, None),) * 7 + ((HOUR_S, None), (None, -HOUR_S), (-1.0, 9e6)))
    return Route(
        id=name,
        path=path(rng),
        hosts=tuple(rng.sample(hosts, rng.choice((1, 1, len(hosts))))),
        methods=tuple(rng.sample(METHODS, rng.choice((0, 0, 0, 1, 2)))),
        conditions=tuple(rng.sample(CONDITIONS, count)),
        sources=rng.choice(((),) * 9 + NETWORKS),
        functions=() if rng.random() < 0.9 else (rng.choice(FUNCTIONS),),
        cohort=cohort(rng) if rng.random() < 0.15 else None,
        priority=rng.choice((0, 0, 0, 5)),
        response=FixedResponse(status=200, body=name),
        valid_from_s=None if began is None else now_s + began,
        valid_until_s=None if ended is None else now_s + ended,
    )


def path(rng: random.Random) -> PathMatch:
    """A path rule of any type."""
    kind = rng.choices(list(PathMatchType), (2, 4, 3, 2))[0]
    if kind is PathMatchType.REGULAR_EXPRESSION:
        return PathMatch(type=kind, value=rng.choice(EXPRESSIONS)[0])
    words = [rng.choice(WORDS) for _ in range(rng.randrange(4))]
    if kind is PathMatchType.PATH_TEMPLATE:
        words = words or ["a"]
        for at in rng.sample(range(len(words)), rng.randint(1, len(words))):
            words[at] = f"{{p{at}}}"
    elif kind is PathMatchType.EXACT and words and rng.random() < 0.2:
        words.append("")
    return PathMatch(type=kind, value="/" + "/".join(words))


def cohort(rng: random.Random) -> Cohort:
    """A part of all, sometimes all."""
    low, high = sorted(rng.choice((0, 500, 1_234, 5_000, 9_999, 10_000)) for _ in range(2))
    return Cohort(by=rng.choice(list(CohortKey)), low=low, high=high)


def sent(rng: random.Random, routes: Sequence[Route], hosts: Sequence[str]) -> Sent:
    """A request that is like one of the routes."""
    like = rng.choice(routes)
    query = rng.choice(QUERIES)
    target = like_path(rng, like.path)
    headers = list(dict([rng.choice(HEADERS) for _ in range(rng.randrange(4))]).items())
    cookies = [rng.choice(COOKIES)] if rng.random() < 0.5 else []
    if rng.random() < 0.6:
        cookies.append(f"{STICKY_COOKIE}={rng.getrandbits(64):016x}")
    if cookies:
        headers.append(("cookie", "; ".join(cookies)))
    if rng.random() < 0.5:
        headers.append(("x-request-id", f"{rng.getrandbits(64):016x}"))
    return Sent(
        target=f"{target}?{query}" if query else target,
        method=rng.choice(like.methods or METHODS) if rng.random() < 0.8 else rng.choice(METHODS),
        host=rng.choice(hosts),
        headers=tuple(headers),
        source=rng.choice(SOURCES),
    )


def like_path(rng: random.Random, rule: PathMatch) -> str:
    """A path in normal form that the rule matches, or one beside it."""
    if rule.type is PathMatchType.REGULAR_EXPRESSION:
        return rng.choice(dict(EXPRESSIONS)[rule.value])
    words = [
        rng.choice((*WORDS, "zz")) if word.startswith("{") else word
        for word in rule.value[1:].split("/")
    ]
    change = rng.random()
    if (rule.type is PathMatchType.PATH_PREFIX and change < 0.5) or change < 0.1:
        words += rng.choices((*WORDS, "zz"), k=rng.randrange(3))
    elif change > 0.9:
        words[-1] += rng.choice(("x", "/"))
    return "/" + "/".join(words).lstrip("/")
