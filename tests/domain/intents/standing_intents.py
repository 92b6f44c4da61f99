"""Intents and a fleet of three data centres for tests of what intents make of a snapshot."""

from collections.abc import Mapping
from dataclasses import replace

from controlplane.domain.fleet_snapshot import build
from controlplane.domain.intents.intent import Intent, IntentKind, IntentState, Target, Wanted
from controlplane.domain.intents.overlay import Overlay, overlaid
from controlplane.domain.routing.route import PathMatch, Route
from controlplane.domain.services import Cluster, Endpoint, Service
from controlplane.domain.snapshot import Content
from controlplane.domain.topology import Datacenter, Fleet, Pool, Role

NOW_S = 1_000.0
CENTERS = ("east", "west", "far")


def cluster(center: str, *ports: int, **values: object) -> Cluster:
    return Cluster(
        datacenter=center,
        endpoints=tuple(Endpoint(address="10.0.0.1", port=port) for port in ports),
        capacity_rps=100.0,
        **values,  # type: ignore[arg-type]
    )


def service(name: str = "shop", **values: object) -> Service:
    clusters = (cluster("east", 1, 2), cluster("west", 3, 4), cluster("far", 5))
    return replace(Service(name=name, clusters=clusters), **values)  # type: ignore[arg-type]


def fleet(*services: Service) -> Fleet:
    chosen = services or (service(),)
    roles = (Role.PRIMARY, Role.SAME_CITY, Role.DISASTER_RECOVERY)
    return Fleet(
        datacenters=tuple(
            Datacenter(name=name, role=role, region="r")
            for name, role in zip(CENTERS, roles, strict=True)
        ),
        pools=(Pool(name="shared", datacenter="west", capacity_rps=400.0),),
        services=chosen,
        routes=tuple(
            Route(id=one.name, service=one.name, path=PathMatch(value=f"/{one.name}"))
            for one in chosen
        ),
    )


SHARES: Mapping[str, float] = {"east": 0.6, "west": 0.4, "far": 0.0}


def content(of: Fleet) -> Content:
    return build(of, {one.name: SHARES for one in of.services}).content


def intent(
    kind: IntentKind, target: Target | None = None, number: int = 1, **values: object
) -> Intent:
    """Active since `NOW_S`; what is no field of an intent is one of what is wanted."""
    own = {"state", "active_s", "returning_s", "ending", "loads", "limits", "before"}
    asked = {name: value for name, value in values.items() if name not in own}
    given: dict[str, object] = {"state": IntentState.ACTIVE, "active_s": NOW_S}
    given |= {name: value for name, value in values.items() if name in own}
    return Intent(
        id=f"{kind}-{number}",
        number=number,
        change=number,
        wanted=Wanted(kind=kind, target=target or Target(datacenter="east"), **asked),  # type: ignore[arg-type]
        author="ann",
        created_s=NOW_S,
        **given,  # type: ignore[arg-type]
    )


def published(of: Fleet, *intents: Intent, now_s: float = NOW_S, **values: object) -> Content:
    over = Overlay(fleet=of, intents=intents, now_s=now_s, **values)  # type: ignore[arg-type]
    return overlaid(content(of), over)


def weights(found: Content, name: str = "shop") -> dict[str, int]:
    return next(dict(one.weights) for one in found.weights.weights if one.service == name)
