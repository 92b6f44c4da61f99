"""The kind `session_queue` of a fleet document, and its page."""

import dataclasses
from dataclasses import replace

import pytest

from controlplane.api.fleet_document.parsing import parse
from controlplane.api.fleet_document.rendering import render
from controlplane.domain.admission.policy import Policy, check_policy
from controlplane.domain.admission.session_queue.policy import Alone, Gate, SessionQueuePolicy
from controlplane.domain.errors import Invalid
from controlplane.domain.fleet_order import normalized
from tests import builders
from tests.api.test_caller_pages import DOCS, blocks

PAGE = (DOCS / "session-queue.md").read_text(encoding="utf-8")
USUAL = SessionQueuePolicy()
FULL = replace(
    USUAL,
    target_ms=800.5,
    initial_size=20,
    least_size=2,
    most_size=500,
    period_s=2.5,
    ticket_s=30,
    hold_s=5.0,
    most_waiting=50,
    draw_s=10.0,
    starts_at_s=1_920_628_800.0,
    gate=Gate.HOLD,
    finish_paths=("/logout", "/done"),
    bound_to_source=False,
    alone=Alone.REFUSE,
    alone_share=0.25,
    keys='{"keys": []}',
    revoked=("abc", "def"),
    title="选课",
)


def queue_of(line: str) -> str:
    centers = "datacenters: [{name: dc-east, role: primary, region: east}]\n"
    return f"{centers}policies:\n  - name: q\n    session_queue:\n      {line}\n"


@pytest.mark.parametrize("queue", [USUAL, FULL])
def test_a_queue_writes_and_reads_back(queue: SessionQueuePolicy) -> None:
    policy = Policy(name="x", session_queue=queue)
    fleet = normalized(replace(builders.fleet(), policies=(policy,)))
    assert parse(render(fleet)) == fleet


@pytest.mark.parametrize(
    "line", ["gate: shut", "ticket_s: 1.5", "keys: [a]", "finish_paths: [[a]]"]
)
def test_what_nobody_can_read_is_an_error_of_the_document(line: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse(queue_of(line))
    assert line.partition(":")[0] in str(refused.value.details)


def test_a_key_set_is_bounded() -> None:
    with pytest.raises(Invalid, match="JWK set"):
        parse(queue_of(f"keys: {'x' * 65_537}"))


def test_the_page_names_every_key_with_its_default_and_its_example_is_read() -> None:
    for field in dataclasses.fields(SessionQueuePolicy):
        assert f"`{field.name}`" in PAGE
    (policy,) = parse(next(iter(blocks(PAGE, "yaml")))).policies
    check_policy(policy)
    assert policy.session_queue == replace(
        USUAL, target_ms=800.0, initial_size=20, finish_paths=("/logout",)
    )
