"""Fleet documents and changes of the fleet on the wire. Called by the resources that change it."""

from typing import Annotated

from fastapi import Query

from controlplane.api.wire.values import Wire
from controlplane.engine.fleet.fleets import FleetChange

YAML = "application/yaml"
JSON = "application/json"
DOCUMENT: dict[str, dict[str, object]] = {YAML: {}, JSON: {}}
BODY = {"requestBody": {"required": True, "content": DOCUMENT}}

DryRun = Annotated[bool, Query(description="Only tell what would change.")]
Force = Annotated[bool, Query(description="Also when much is removed or moved; audited.")]


class ChangeOut(Wire):
    """One item of a difference; before and after are canonical JSON, "" when absent."""

    kind: str
    subject: str
    before: str
    after: str


class HeldOut(Wire):
    """A change of one route that is not made."""

    route: str
    reason: str


def changes_of(change: FleetChange) -> list[ChangeOut]:
    """What differs, on the wire."""
    return [
        ChangeOut(kind=line.kind, subject=line.subject, before=line.before, after=line.after)
        for line in change.lines
    ]


def held_of(change: FleetChange) -> list[HeldOut]:
    """What stays as it was, on the wire."""
    return [HeldOut(route=one.route, reason=one.reason) for one in change.held]
