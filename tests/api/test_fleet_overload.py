"""The kind `overload` of a fleet document, and its page."""

from dataclasses import fields, replace

import pytest

from controlplane.api.fleet_document.parsing import parse
from controlplane.api.fleet_document.rendering import render
from controlplane.domain.admission.overload.policy import Alone, OverloadPolicy, Read
from controlplane.domain.admission.policy import Policy, PolicyKind, check_policy
from controlplane.domain.errors import Invalid
from controlplane.domain.fleet_order import normalized
from tests import builders
from tests.api.test_caller_pages import DOCS, blocks

PAGE = (DOCS / "overload.md").read_text(encoding="utf-8")
LEAST = OverloadPolicy(reads=(Read(path="/seats"),))
FULL = OverloadPolicy(
    reads=(
        Read(path="/shows/{show}/seats", query=("hall", "date")),
        Read(path="/a", method="HEAD"),
    ),
    threshold=0,
    window_s=10.0,
    lifetime_s=0.5,
    carried_s=0.0,
    token_s=1.0,
    wait_s=0.0,
    stale_s=0.0,
    most_waiting=5,
    most_answer_bytes=1_000,
    most_bytes=10_000,
    alone=Alone.ADMIT,
    alone_share=0.25,
)


@pytest.mark.parametrize("spec", [LEAST, FULL])
def test_a_policy_writes_and_reads_back(spec: OverloadPolicy) -> None:
    fleet = normalized(replace(builders.fleet(), policies=(Policy(name="x", overload=spec),)))
    assert parse(render(fleet)) == fleet


@pytest.mark.parametrize(
    ("keys", "path"),
    [
        ("threshold: 5", "reads"),
        ("reads: [{query: [a]}]", "reads[0].path"),
        ("reads: [{path: seats}]", "reads[0].path"),
        ("reads: [{path: /a}], lifetime_s: 0", "lifetime_s"),
        ("reads: [{path: /a}], alone: hope", "alone"),
        ("reads: [{path: /a}], ttl: 5", "ttl"),
    ],
)
def test_what_nobody_can_read_is_an_error_with_its_place(keys: str, path: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse(
            "datacenters: [{name: a, role: primary, region: x}]\n"
            f"policies: [{{name: p, overload: {{{keys}}}}}]\n"
        )
    errors = caught.value.details["errors"]
    assert isinstance(errors, list)
    assert f"policies[0].overload.{path}" in {error["path"] for error in errors}


def test_the_page_names_every_key_and_its_example_reads() -> None:
    keys = [one.name for kind in (OverloadPolicy, Read) for one in fields(kind)]
    assert [key for key in keys if f"`{key}`" not in PAGE] == []
    (text,) = blocks(PAGE, "yaml")
    (policy,) = parse(text).policies
    check_policy(policy)
    assert policy.kind is PolicyKind.OVERLOAD
