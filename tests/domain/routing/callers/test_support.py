"""What a data plane cannot check of its callers."""

from controlplane.domain.routing.callers.policies import (
    ApiKey,
    CallerMethod,
    CallerPolicy,
    ClientCertificate,
    RequestSignature,
)
from controlplane.domain.routing.callers.support import (
    MOST_NAMED,
    refused_routes,
    unchecked,
    unsupported,
)
from controlplane.domain.routing.route import Route

POLICIES = (
    CallerPolicy(name="key", api_key=ApiKey()),
    CallerPolicy(name="signed", signature=RequestSignature()),
    CallerPolicy(name="unused", client_certificate=ClientCertificate()),
)
KEYS = {CallerMethod.API_KEY}


def route(name: str, *policies: str) -> Route:
    return Route(id=name, service="web", authentication=policies)


def test_which_policies_a_plane_does_not_know() -> None:
    assert unchecked(POLICIES, KEYS) == {"signed", "unused"}


def test_a_route_is_refused_when_none_of_its_policies_is_checked() -> None:
    routes = [route("open"), route("one", "signed"), route("either", "signed", "key")]
    assert [r.id for r in refused_routes(routes, {"signed"})] == ["one"]


def test_a_policy_that_nobody_uses_needs_no_word() -> None:
    assert unsupported("HAProxy", KEYS, POLICIES, [route("open"), route("r", "key")]) == ()


def test_other_policies_of_its_routes_count() -> None:
    (note,) = unsupported("HAProxy", KEYS, POLICIES, [route("r", "key", "signed")])
    assert (note.code, note.subject) == ("caller_policy_unsupported", "caller/signed")
    assert "HAProxy cannot check caller policy signed, which is of signature" in note.message
    assert "api_key" in note.message
    assert "other policies of its routes count" in note.held


def test_a_policy_that_nobody_declares_is_told() -> None:
    (note,) = unsupported("HAProxy", KEYS, POLICIES, [route("r", "gone")])
    assert note.subject == "caller/gone"
    assert "which is not declared" in note.message


def test_refused_routes_are_named_up_to_a_number() -> None:
    routes = [route(f"r{number}", "signed") for number in range(MOST_NAMED + 2)]
    (note,) = unsupported("nginx", (), POLICIES, routes)
    assert "another plane" in note.message
    assert note.held == "every request for r0, r1, r2, r3, r4 and 2 more is refused there"
    (one,) = unsupported("nginx", (), POLICIES, routes[:1])
    assert one.held == "every request for r0 is refused there"
