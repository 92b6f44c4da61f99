"""Who may call a route."""

from dataclasses import replace

import pytest

from controlplane.domain.routing.callers.authorization import (
    Admittance,
    Ruling,
    Shown,
    admit,
    register,
)
from controlplane.domain.routing.callers.policies import (
    CREDENTIALS,
    ApiKey,
    CallerMethod,
    CallerPolicy,
    ClientCertificate,
    Consumer,
    Credential,
    CredentialType,
    Grant,
    Jwt,
    RequestSignature,
)
from controlplane.domain.routing.route import Route

KEY, TOKEN, MACHINE = CredentialType.KEY_SHA256, CredentialType.CLAIM, CredentialType.SAN
POLICIES = (
    CallerPolicy(name="key", api_key=ApiKey()),
    CallerPolicy(name="token", jwt=Jwt(issuer="id"), otherwise="somebody"),
    CallerPolicy(name="machine", client_certificate=ClientCertificate()),
    CallerPolicy(name="signed", signature=RequestSignature()),
)
ROUTE = Route(
    id="pay", service="pay", authentication=("key", "token"), labels=(("team", "pay"), ("x", "y"))
)


def consumer(name: str, *grants: Grant, policy: str = "key") -> Consumer:
    kind = {"key": KEY, "token": TOKEN, "machine": MACHINE}[policy]
    return Consumer(
        name=name,
        credentials=(Credential(policy=policy, type=kind, value=f"of-{name}"),),
        grants=grants,
    )


def shown(policy: str, kind: CredentialType, *values: str) -> Shown:
    return Shown(policy=policy, values=tuple((kind, value) for value in values))


def asked(grant: Grant, route: Route = ROUTE, zone: str = "") -> Admittance:
    known = register(POLICIES, [consumer("alice", grant)])
    return admit(route, [shown("key", KEY, "of-alice")], known, zone)


def test_each_method_has_its_credentials() -> None:
    assert [policy.method for policy in POLICIES] == [
        CallerMethod.API_KEY,
        CallerMethod.JWT,
        CallerMethod.CLIENT_CERTIFICATE,
        CallerMethod.SIGNATURE,
    ]
    kinds = [kind for method in CallerMethod for kind in CREDENTIALS[method]]
    assert sorted(kinds) == sorted(CredentialType)


def test_a_route_without_policies_is_open() -> None:
    answer = admit(Route(id="a", service="a"), [], register(POLICIES, []))
    assert answer == Admittance(ruling=Ruling.ALLOWED)
    assert answer.status == 200


@pytest.mark.parametrize(
    "grant",
    [
        Grant(),
        Grant(routes=("other", "pay")),
        Grant(labels=(("team", "pay"),)),
        Grant(labels=(("team", "pay"), ("x", "y"))),
        Grant(routes=("other",), labels=(("team", "pay"),)),
        Grant(zones=("external", "internal")),
    ],
)
def test_a_grant_covers(grant: Grant) -> None:
    answer = asked(grant, zone="internal")
    assert answer == Admittance(ruling=Ruling.ALLOWED, consumer="alice", policy="key")


@pytest.mark.parametrize(
    "grant",
    [
        Grant(routes=("other",)),
        Grant(labels=(("team", "food"),)),
        Grant(labels=(("team", "pay"), ("x", "z"))),
        Grant(zones=("ticketing",)),
    ],
)
def test_a_grant_does_not_cover(grant: Grant) -> None:
    answer = asked(grant, zone="internal")
    assert answer == Admittance(ruling=Ruling.FORBIDDEN)
    assert answer.status == 403


def test_a_group_without_a_zone_has_no_grant_for_one() -> None:
    assert asked(Grant(zones=("internal",))).ruling is Ruling.FORBIDDEN


def test_who_shows_nothing_is_unknown() -> None:
    known = register(POLICIES, [consumer("alice", Grant())])
    for proofs in (
        [],
        [shown("key", KEY, "of-nobody")],
        # A policy that the route does not name, and one that nobody declared.
        [shown("machine", MACHINE, "of-alice")],
        [shown("undeclared", KEY, "of-alice")],
    ):
        answer = admit(ROUTE, proofs, known)
        assert answer == Admittance(ruling=Ruling.UNKNOWN)
        assert answer.status == 401


def test_a_route_that_names_an_undeclared_policy_lets_nobody_in() -> None:
    route = Route(id="a", service="a", authentication=("gone",))
    known = register(POLICIES, [consumer("alice", Grant())])
    answer = admit(route, [shown("gone", KEY, "of-alice")], known)
    assert answer.ruling is Ruling.UNKNOWN


def test_everybody_else_of_a_policy_may_stand_for_one_consumer() -> None:
    known = register(POLICIES, [Consumer(name="somebody", grants=(Grant(),))])
    answer = admit(ROUTE, [shown("token", TOKEN, "user-1")], known)
    assert answer == Admittance(ruling=Ruling.ALLOWED, consumer="somebody", policy="token")
    # Without such a consumer nobody is let in.
    assert admit(ROUTE, [shown("token", TOKEN, "u")], register(POLICIES, [])).status == 403


def test_the_second_policy_may_let_in_whom_the_first_does_not() -> None:
    known = register(
        POLICIES, [consumer("alice"), consumer("bob", Grant(routes=("pay",)), policy="token")]
    )
    proofs = [shown("key", KEY, "of-alice"), shown("token", TOKEN, "of-bob")]
    assert admit(ROUTE, proofs, known).consumer == "bob"


def test_one_of_several_values_is_enough() -> None:
    known = register(POLICIES, [consumer("gate", Grant(), policy="machine")])
    route = Route(id="a", service="a", authentication=("machine",))
    proof = shown("machine", MACHINE, "of-else", "of-gate")
    assert admit(route, [proof], known).consumer == "gate"


def test_of_two_consumers_with_one_credential_the_first_has_it() -> None:
    twice = [
        Consumer(name=name, credentials=(Credential(policy="key", type=KEY, value="same"),))
        for name in ("zoe", "amy")
    ]
    known = register(POLICIES, twice)
    assert known.consumer(shown("key", KEY, "same")) == "amy"


@pytest.mark.parametrize("name", ["gray/pay", "gray/pay/both"])
def test_a_gray_route_has_the_grants_of_the_route_that_it_will_be(name: str) -> None:
    gray = replace(ROUTE, id=name)
    assert asked(Grant(routes=("pay",)), gray).ruling is Ruling.ALLOWED
