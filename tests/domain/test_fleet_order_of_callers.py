"""The order of input never shows in who may call."""

import random
from dataclasses import replace
from typing import TypeVar

import pytest

from controlplane.domain.fleet_order import normalized
from controlplane.domain.routing.callers.policies import (
    ApiKey,
    CallerPolicy,
    Consumer,
    Credential,
    CredentialType,
    Grant,
    Jwt,
)
from controlplane.domain.routing.tls import Certificate
from controlplane.domain.routing.zones import Zone, ZoneFunction
from controlplane.domain.topology import Fleet

T = TypeVar("T")
KEY, CLAIM = CredentialType.KEY_SHA256, CredentialType.CLAIM
DECLARED = Fleet(
    callers=(
        CallerPolicy(name="key", api_key=ApiKey()),
        CallerPolicy(
            name="staff",
            jwt=Jwt(issuer="id", audiences=("a", "b"), claims=(("role", "x"), ("team", "y"))),
        ),
    ),
    consumers=(
        Consumer(
            name="a",
            credentials=(
                Credential(policy="key", type=KEY, value="1"),
                Credential(policy="staff", type=CLAIM, value="2"),
            ),
            grants=(
                Grant(labels=(("a", "1"), ("b", "2")), zones=("x", "y")),
                Grant(routes=("r1", "r2")),
            ),
        ),
        Consumer(name="b"),
    ),
    certificates=(
        Certificate(name="one", chain_file="/a", key_file="/b"),
        Certificate(name="two", chain_file="/a", key_file="/b"),
    ),
    zones=(
        Zone(name="x", functions=(ZoneFunction.ANSWERS, ZoneFunction.L4)),
        Zone(name="y", sources=("10.0.0.0/8", "192.168.0.0/16")),
    ),
)


@pytest.mark.parametrize("seed", range(5))
def test_shuffled_declarations_are_the_same_fleet(seed: int) -> None:
    rng = random.Random(seed)

    def mixed(items: tuple[T, ...]) -> tuple[T, ...]:
        return tuple(rng.sample(items, len(items)))

    key, staff = DECLARED.callers
    assert staff.jwt is not None
    jwt = replace(staff.jwt, audiences=mixed(staff.jwt.audiences), claims=mixed(staff.jwt.claims))
    first, second = DECLARED.consumers
    grants = tuple(
        Grant(routes=mixed(g.routes), labels=mixed(g.labels), zones=mixed(g.zones))
        for g in first.grants
    )
    shuffled = Fleet(
        callers=mixed((key, replace(staff, jwt=jwt))),
        consumers=mixed(
            (
                replace(first, credentials=mixed(first.credentials), grants=mixed(grants)),
                second,
            )
        ),
        certificates=mixed(DECLARED.certificates),
        zones=mixed(
            tuple(
                replace(one, functions=mixed(one.functions), sources=mixed(one.sources))
                for one in DECLARED.zones
            )
        ),
    )
    assert normalized(shuffled) == DECLARED
