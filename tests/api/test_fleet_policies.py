"""Admission policies of a fleet document, from the file to what gateways are served."""

from dataclasses import replace

import pytest

from controlplane.api.fleet_document.parsing import parse
from controlplane.api.fleet_document.policies.policy import READERS
from controlplane.api.fleet_document.policies.protection import PROTECTION_KEYS
from controlplane.api.fleet_document.rendering import render
from controlplane.domain.admission.agent_door import WhenAway
from controlplane.domain.admission.policy import Attachment, Mode, Policy, PolicyKind
from controlplane.domain.admission.protection import ProtectionPolicy
from controlplane.domain.admission.section import received
from controlplane.domain.errors import Invalid, Refused
from controlplane.domain.fleet_order import normalized
from controlplane.domain.fleet_snapshot import build
from controlplane.domain.routing.route import FunctionCall, PathMatch, PathMatchType
from controlplane.domain.snapshot import Section
from tests import builders
from tests.api.test_caller_pages import DOCS, blocks
from tests.builders import OPERATOR
from tests.engine.rig import Rig

CENTERS = "datacenters: [{name: a, role: primary, region: x}]\n"
PAGE = (DOCS / "policies.md").read_text(encoding="utf-8")
SHARES = {"tickets": {"beijing-1": 1.0}}
FULL = ProtectionPolicy(
    blocked_sources=("10.0.0.0/8", "192.0.2.1/32"),
    blocked_methods=(),
    blocked_paths=(
        PathMatch(type=PathMatchType.EXACT, value="/b"),
        PathMatch(value="/a"),
    ),
    blocked_when=(FunctionCall(name="language", arguments=(("first", "en"),)),),
    most_body_bytes=0,
    encodings=("gzip",),
)


def errors(policy: str) -> list[tuple[str, str]]:
    with pytest.raises(Invalid) as caught:
        parse(f"{CENTERS}policies:\n  - {policy}\n")
    found = caught.value.details["errors"]
    assert isinstance(found, list)
    return [(str(error["path"]), str(error["allowed"])) for error in found]


@pytest.mark.parametrize(
    "policy",
    [
        Policy(name="usual", protection=ProtectionPolicy()),
        Policy(
            name="full",
            mode=Mode.OFF,
            attachment=Attachment(routes=("r",), services=("s", "t"), regions=("u",)),
            when_away=WhenAway.REFUSE,
            protection=FULL,
        ),
    ],
)
def test_a_policy_writes_and_reads_back(policy: Policy) -> None:
    fleet = normalized(replace(builders.fleet(), policies=(policy,)))
    assert parse(render(fleet)) == fleet


def test_the_order_of_lists_never_shows() -> None:
    text = "{name: p, services: [t, s], protection: {blocked_sources: [%s], encodings: [%s]}}"
    one = parse(f"{CENTERS}policies: [{text % ('10.0.0.0/8, 11.0.0.0/8', 'br, gzip')}]")
    other = parse(f"{CENTERS}policies: [{text % ('11.0.0.0/8, 10.0.0.0/8', 'gzip, br')}]")
    assert one == other


@pytest.mark.parametrize(
    ("policy", "path", "allowed"),
    [
        ("{name: p}", "policies[0]", "exactly one of protection"),
        ("{name: p, protection: }", "policies[0]", "{} takes a kind's defaults"),
        ("{name: p, mode: on, protection: {}}", "policies[0].mode", "enforce, observe, off"),
        ("{name: p, when_away: x, protection: {}}", "policies[0].when_away", "admit, refuse"),
        ("{name: p, protecton: {}}", "policies[0].protecton", "did you mean protection?"),
        ("{name: p, routes: [], protection: {}}", "policies[0].routes", "at least one of"),
        ("{name: p, protection: {most_headers: 0}}", "policies[0].protection.most_headers", "1..1"),
        (
            "{name: p, protection: {encodings: [GZip]}}",
            "policies[0].protection.encodings[0]",
            "lower case",
        ),
        (
            "{name: p, protection: {blocked_sources: [10.0.0.1/8]}}",
            "policies[0].protection.blocked_sources[0]",
            "10.0.0.0/8",
        ),
    ],
)
def test_what_nobody_can_read_is_one_error_with_its_place(
    policy: str, path: str, allowed: str
) -> None:
    ((found, words),) = errors(policy)
    assert found == path
    assert allowed in words


def test_a_name_stands_once() -> None:
    twice = "{name: p, protection: {}}\n  - {name: P, protection: {}}"
    ((path, _),) = errors(twice)
    assert path == "policies[1].name"


def test_gateways_read_what_is_declared() -> None:
    policy = Policy(name="p", protection=FULL)
    snapshot = build(replace(builders.fleet(), policies=(policy,)), SHARES)
    assert received(snapshot.sections[Section.ADMISSION]).policies == (policy,)


async def test_a_bad_policy_is_one_finding_and_the_rest_ships() -> None:
    rig = Rig()
    good = Policy(name="good", protection=ProtectionPolicy())
    bad = Policy(name="bad", protection=ProtectionPolicy(most_headers=0))
    change = await rig.fleets.apply(replace(builders.fleet(), policies=(good, bad)), OPERATOR)
    assert rig.fleets.current.fleet.policies == (good,)
    assert [one.route for one in change.held] == ["policy/bad"]
    (finding,) = rig.findings.standing()
    assert finding.observation.code == "policy_invalid"
    assert "most_headers is 0" in finding.observation.message
    repaired = replace(bad, protection=ProtectionPolicy())
    await rig.fleets.apply(replace(builders.fleet(), policies=(good, repaired)), OPERATOR)
    assert rig.findings.standing() == []
    await rig.fleets.apply(replace(builders.fleet(), policies=(good, bad)), OPERATOR)
    assert rig.fleets.current.fleet.policies == (repaired, good)


async def test_a_policy_whose_route_is_gone_is_a_finding_until_it_is_back() -> None:
    rig = Rig()
    policy = Policy(
        name="p", attachment=Attachment(services=("gone",)), protection=ProtectionPolicy()
    )
    await rig.fleets.apply(replace(builders.fleet(), policies=(policy,)), OPERATOR)
    (finding,) = rig.findings.standing()
    assert finding.observation.code == "policy_reference_unknown"
    with_it = builders.fleet(builders.service(), builders.service("gone"))
    await rig.fleets.apply(replace(with_it, policies=(policy,)), OPERATOR)
    assert rig.findings.standing() == []


async def test_most_policies_do_not_go_at_once_unless_forced() -> None:
    rig = Rig()
    policies = tuple(Policy(name=f"p{n}", protection=ProtectionPolicy()) for n in range(3))
    await rig.fleets.apply(replace(builders.fleet(), policies=policies), OPERATOR)
    with pytest.raises(Refused, match="1 of 3 policies"):
        await rig.fleets.apply(replace(builders.fleet(), policies=policies[:2]), OPERATOR)
    await rig.fleets.apply(replace(builders.fleet(), policies=policies[:2]), OPERATOR, force=True)
    assert len(rig.fleets.current.fleet.policies) == 2


def test_every_kind_has_a_reader_and_a_section_of_the_page() -> None:
    assert set(READERS) == set(PolicyKind)
    for kind in PolicyKind:
        assert f"| `{kind}` |" in PAGE


def test_the_page_names_every_key_and_its_example_reads() -> None:
    section = PAGE.partition("## protection\n")[2].partition("\n## ")[0]
    assert [key for key in PROTECTION_KEYS if f"`{key}`" not in section] == []
    text = blocks(PAGE, "yaml")[0]
    (policy,) = parse(text).policies
    assert (policy.name, policy.kind, policy.mode) == ("edge", PolicyKind.PROTECTION, Mode.OBSERVE)
