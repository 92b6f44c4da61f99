"""Which services an intent is about.

Called for what it holds, for what it has to remember and for what automation must leave alone.
"""

from collections.abc import Iterable

from controlplane.domain.intents.intent import Intent, IntentKind, Target, Wanted
from controlplane.domain.intents.presence import TAKING
from controlplane.domain.snapshot import Content
from controlplane.domain.topology import Fleet

# Authors of what no person has asked for.
HEALTH = "health"
POLICY_PREFIX = "policy/"


def holds(intents: Iterable[Intent], fleet: Fleet) -> frozenset[str]:
    """Services that no strategy decides about: an operator's word stands over their splits."""
    found: set[str] = set()
    places: dict[str, set[str]] = {}
    for intent in intents:
        if not (intent.standing and intent.moves):
            continue
        if not places:
            places = {
                one.name: {cluster.datacenter for cluster in one.clusters} for one in fleet.services
            }
        found |= {
            service
            for service, centers in places.items()
            if _about(intent.target, service, centers)
        }
    return frozenset(found)


def touched(wanted: Wanted, content: Content) -> frozenset[str]:
    """Services whose splits an intent changes or holds."""
    if wanted.kind is IntentKind.PRESET:
        return frozenset()
    return frozenset(
        one.service
        for one in content.endpoints.services
        if _about(wanted.target, one.service, {each.datacenter for each in one.centers})
    )


def spoken_for(target: Target, intents: Iterable[Intent]) -> Intent | None:
    """The standing intent by which a person has spoken about a target; None leaves it open.

    Health and alert policies neither take away nor bring back what is frozen, or what somebody is
    restoring.
    """
    for intent in intents:
        spoken = intent.kind in (IntentKind.FREEZE, IntentKind.RESTORE)
        if intent.standing and spoken and _meets(intent.target, target):
            return intent
    return None


def by_automation(author: str) -> bool:
    """Whether health or an alert policy speaks, and no person."""
    return author == HEALTH or author.startswith(POLICY_PREFIX)


def left_by_automation(intents: Iterable[Intent]) -> frozenset[str]:
    """Data centres that health and alert policies have taken traffic from, in any service."""
    return frozenset(
        one.target.datacenter
        for one in intents
        if one.kind in TAKING and one.standing and one.ending is None and by_automation(one.author)
    )


def _about(target: Target, service: str, centers: set[str]) -> bool:
    return target.service in ("", service) and (
        not target.datacenter or target.datacenter in centers
    )


def _meets(one: Target, other: Target) -> bool:
    """Whether two targets have something in common."""
    return one.covers(other) or other.covers(one)
