"""The `admission` section as gateways read it: policy by policy, so that one that a gateway is too
old for costs only itself.

Made by `fleet_snapshot` (`canonical.encode` of the section); decoded here by agents.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from controlplane.domain import canonical
from controlplane.domain.admission.policy import Policy, check_policy, in_order
from controlplane.domain.errors import Invalid


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A policy that cannot be enforced here, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A section as far as it can be read; policies in the order in which they are asked.

    Attributes:
        version: digest of its bytes, as its ETag has it; "" is none.
    """

    version: str = ""
    policies: tuple[Policy, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()


def received(data: bytes) -> Received:
    """Read the bytes of `GET /v1/policies`.

    Raises:
        Invalid: `stored_value_unreadable`, it is no such section: keep the one before.
    """
    policies: list[Policy] = []
    unreadable: list[Unreadable] = []
    for name, item in _items(data):
        try:
            policy = canonical.decode(Policy, json.dumps(item).encode())
            check_policy(policy)
            policies.append(policy)
        except Invalid as error:
            unreadable.append(Unreadable(name=name, reason=error.message))
    return Received(
        version=canonical.digest(data), policies=in_order(policies), unreadable=tuple(unreadable)
    )


def _items(data: bytes) -> Iterator[tuple[str, object]]:
    try:
        found = json.loads(data)
    except ValueError as error:
        raise _no_section(data, str(error)) from error
    items = found.get("policies") if isinstance(found, Mapping) else None
    if not isinstance(items, list):
        raise _no_section(data, "there is no list of policies")
    for number, item in enumerate(items):
        name = item.get("name") if isinstance(item, Mapping) else None
        yield str(name or f"number {number}"), item


def _no_section(data: bytes, reason: str) -> Invalid:
    return Invalid(
        "stored_value_unreadable", f"cannot read policies from {len(data)} bytes: {reason}"
    )
