"""A small fleet that uses every part of a route, for the planes that are configured by files."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from controlplane.domain.fleet_snapshot import build
from controlplane.domain.routing.route import (
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
    SlowQueue,
    TextMatchType,
    VersionWeight,
)
from controlplane.domain.routing.whitelist import Whitelist
from controlplane.domain.services import Cluster, Endpoint, LoadBalancing, Service
from controlplane.domain.snapshot import Snapshot, assemble
from controlplane.domain.topology import Datacenter, Fleet, GatewayGroup, Role

GROUP = "edge"


def path(value: str, kind: PathMatchType = PathMatchType.PATH_PREFIX) -> PathMatch:
    return PathMatch(type=kind, value=value)


EXACT, TEMPLATE = PathMatchType.EXACT, PathMatchType.PATH_TEMPLATE
EXPRESSION = PathMatchType.REGULAR_EXPRESSION
CURL = Condition(name="user-agent", type=TextMatchType.PREFIX, value="curl/")
ROUTES = (
    Route(id="all", service="web"),
    Route(id="api", service="api", path=path("/api")),
    Route(id="api-write", service="web", path=path("/api"), methods=("POST", "PUT")),
    Route(id="bots", path=path("/api"), conditions=(CURL,), response=FixedResponse()),
    Route(id="item", service="api", path=path("/api/items/{id}/parts", TEMPLATE)),
    Route(id="old", path=path("/old", EXACT), redirect=Redirect(status=301, path="/new")),
    Route(id="https", path=path("/login"), redirect=Redirect(status=308, scheme="https")),
    Route(
        id="moved",
        service="api",
        path=path("/v1"),
        rewrite=Rewrite(host="api.internal", prefix="/api"),
        request_headers=HeaderChanges(set=(("x-plane", "100 %"),), remove=("x-secret",)),
        response_headers=HeaderChanges(set=(("x-served-by", "us"),), remove=("server",)),
        timeout_ms=900,
        retries=1,
    ),
    Route(id="one", service="web", path=path("/one"), rewrite=Rewrite(path="/api/one")),
    Route(id="slow", service="web", path=path("/slow"), queue=SlowQueue(concurrent=12, waiting=30)),
    Route(
        id="split",
        service="api",
        path=path("/split"),
        versions=(
            VersionWeight(version="v1", weight=9_000),
            VersionWeight(version="v2", weight=1_000),
        ),
    ),
    Route(
        id="trial",
        service="web",
        path=path("/trial"),
        cohort=Cohort(by=CohortKey.USER, high=500),
        sources=("10.0.0.0/8", "2001:db8::/32"),
        conditions=(
            Condition(part=Part.COOKIE, name="plan", value="gold 'x'"),
            Condition(
                part=Part.QUERY_PARAM,
                name="page",
                type=TextMatchType.REGULAR_EXPRESSION,
                value="[0-9]+",
            ),
            Condition(name="x-trace", type=TextMatchType.ABSENT),
        ),
        functions=(FunctionCall(name="language", arguments=(("first", "zh"),)),),
    ),
    Route(id="number", service="api", path=path("/n[0-9]+", EXPRESSION), hosts=("*.b.example",)),
    Route(id="b", service="api", path=path("/b"), hosts=("b.example", "*.b.example")),
    Route(id="listed", service="web", path=path("/listed", EXACT), hosts=("list.example",)),
    Route(id="guarded", service="web", path=path("/guarded"), authentication=("keys",)),
    Route(id="lost", service="nobody", path=path("/lost")),
    Route(
        id="hashed",
        service="web",
        path=path("/hashed"),
        functions=(
            FunctionCall(name="hashed_share", arguments=(("header", "x-user"), ("high", "5"))),
        ),
    ),
    Route(
        id="sale",
        path=path("/sale"),
        response=FixedResponse(status=200, body="1 < 2 % of $uri\n", content_type="text/html"),
        valid_from_s=1_800_000_000.5,
        valid_until_s=1_900_000_000.5,
    ),
    Route(id="elsewhere", service="web", path=path("/elsewhere"), gateways=("inner",)),
)
WHITELISTS = (Whitelist(id="list", hosts=("list.example",)),)


def service(name: str, east: range, west: range, versions: tuple[str, ...] = ("",)) -> Service:
    return Service(
        name=name,
        clusters=tuple(
            Cluster(
                datacenter=center,
                capacity_rps=100.0,
                endpoints=tuple(
                    Endpoint(address="127.0.0.1", port=port, version=versions[n % len(versions)])
                    for n, port in enumerate(ports)
                ),
            )
            for center, ports in (("east", east), ("west", west))
        ),
    )


def fleet(port: int = 10_000) -> Fleet:
    plain = service("web", range(9001, 9004), range(9101, 9103))
    return Fleet(
        datacenters=(
            Datacenter(name="east", role=Role.PRIMARY, region="r1"),
            Datacenter(name="west", role=Role.SAME_CITY, region="r2"),
        ),
        services=(
            service("api", range(9201, 9205), range(9301, 9303), ("v1", "v2")),
            replace(plain, load_balancing=LoadBalancing.ROUND_ROBIN),
        ),
        gateways=(GatewayGroup(name=GROUP, listen_port=port),),
        routes=ROUTES,
        whitelists=WHITELISTS,
    )


def snapshot(declared: Fleet, revision: int = 1, east: float = 0.6) -> Snapshot:
    shares = {one.name: {"east": east, "west": 1 - east} for one in declared.services}
    return replace(build(declared, shares), revision=revision)


def with_out(addresses: Collection[str], east: float = 0.6, **changes: Any) -> Snapshot:
    """The usual one where health has taken addresses of the service `api` out, `ADDRESS:PORT`.

    Args:
        changes: of that service.
    """
    found = snapshot(fleet(), east=east)
    section = found.content.endpoints
    api, *others = section.services
    assert api.service == "api"
    centers = tuple(
        replace(one, out=tuple(at for at in one.addresses if f"{at[0]}:{at[1]}" in addresses))
        for one in api.centers
    )
    services = (replace(api, centers=centers, **changes), *others)
    return assemble(replace(found.content, endpoints=replace(section, services=services)))
