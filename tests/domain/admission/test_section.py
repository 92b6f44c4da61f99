"""The section as gateways read it."""

import json

import pytest

from controlplane.domain import canonical
from controlplane.domain.admission.policy import Attachment, Mode, Policy
from controlplane.domain.admission.protection import ProtectionPolicy
from controlplane.domain.admission.section import received
from controlplane.domain.errors import Invalid
from controlplane.domain.routing.route import FunctionCall, PathMatch
from controlplane.domain.snapshot import PoliciesSection

CALL = FunctionCall(name="language", arguments=(("first", "en"),))
POLICY = Policy(
    name="edge",
    mode=Mode.OBSERVE,
    attachment=Attachment(routes=("a",)),
    protection=ProtectionPolicy(blocked_paths=(PathMatch(value="/x"),), blocked_when=(CALL,)),
)


def test_what_is_served_is_read_again() -> None:
    data = canonical.encode(PoliciesSection(policies=(POLICY,)))
    assert received(data).policies == (POLICY,)
    assert received(data).unreadable == ()
    assert received(data).version == canonical.digest(data)


def test_a_policy_that_cannot_be_enforced_here_costs_only_itself() -> None:
    good = json.loads(canonical.encode(POLICY))
    newer = {"name": "newer", "kind_to_come": {}}
    wrong = {"name": "wrong", "protection": {"most_headers": 0}}
    data = json.dumps({"policies": [newer, good, wrong, {"name": "none"}, 7]}).encode()
    found = received(data)
    assert found.policies == (POLICY,)
    names = [one.name for one in found.unreadable]
    assert names == ["newer", "wrong", "none", "number 4"]
    assert "kind_to_come" in found.unreadable[0].reason


@pytest.mark.parametrize("data", [b"", b"[]", b'{"policies":{}}', b'{"routes":[]}'])
def test_what_is_no_section_is_refused_whole(data: bytes) -> None:
    with pytest.raises(Invalid, match="cannot read policies"):
        received(data)
