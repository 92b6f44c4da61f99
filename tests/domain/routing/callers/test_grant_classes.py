"""Routes that the same consumers may call, as one class."""

from controlplane.domain.routing.callers.grant_classes import GrantClass, grant_classes
from controlplane.domain.routing.callers.policies import Consumer, Grant
from controlplane.domain.routing.route import Route

PAY = (("team", "pay"),)
CONSUMERS = (
    Consumer(name="all", grants=(Grant(),)),
    Consumer(name="pay", grants=(Grant(labels=PAY, zones=("inner",)),)),
    Consumer(name="one", grants=(Grant(routes=("r3",)),)),
)


def route(name: str, *policies: str, labels: tuple[tuple[str, str], ...] = ()) -> Route:
    return Route(id=name, service="web", authentication=policies, labels=labels)


def test_routes_alike_are_one_class() -> None:
    routes = [
        route("r4", "key"),
        route("r1", "key"),
        route("r2", "signed", "key", labels=PAY),
        route("r3", "key"),
        route("gray/r3", "key"),
        route("open"),
        route("closed", "signed"),
    ]
    found = grant_classes(routes, CONSUMERS, {"key"}, "inner")
    plain = GrantClass(number=2, policies=("key",), consumers=("all",))
    named = GrantClass(number=1, policies=("key",), consumers=("all", "one"))
    assert found == {
        "closed": GrantClass(number=0, policies=(), consumers=("all",)),
        "gray/r3": named,
        "r1": plain,
        "r2": GrantClass(number=3, policies=("key",), consumers=("all", "pay")),
        "r3": named,
        "r4": plain,
    }
    assert list(found) == sorted(found)


def test_a_grant_for_another_zone_is_none() -> None:
    (found,) = grant_classes([route("r", "key", labels=PAY)], CONSUMERS, {"key"}, "").values()
    assert found.consumers == ("all",)
