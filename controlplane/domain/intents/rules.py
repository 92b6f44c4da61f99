"""What must hold before an intent is made: its shape, its target, room, and who would be left.

Called by the engine for a dry run and for the real thing. A refusal tells the numbers and the flag
that forces it.
"""

import math
from collections.abc import Iterable

from controlplane.domain.errors import Conflict, Invalid, NotFound, Refused
from controlplane.domain.failover.plan import Plan, Verdict
from controlplane.domain.intents.intent import Intent, IntentKind, Preset, PresetName, Wanted
from controlplane.domain.intents.presence import TAKING
from controlplane.domain.intents.scope import left_by_automation
from controlplane.domain.services import Service, endpoint_name
from controlplane.domain.snapshot import Content
from controlplane.domain.topology import Fleet

FORCE = "force"
# Nobody watches a ramp for longer, and an intent that ramps for days is a planned change.
LONGEST_RAMP_S = 86_400.0
# What a preset cannot do without.
_NEEDED = {PresetName.CIRCUIT_BREAK: "concurrent", PresetName.RATE_LIMIT: "rate_rps"}
_STATUSES = frozenset({403, 503})


def check_shape(wanted: Wanted, now_s: float) -> None:
    """Raise Invalid when a kind lacks what it needs."""
    _check_times(wanted, now_s)
    target = wanted.target
    match wanted.kind:
        case IntentKind.FAILOVER | IntentKind.DRAIN | IntentKind.RESTORE:
            _need(target.datacenter, wanted, "target.datacenter")
        case IntentKind.PIN:
            _need(target.service, wanted, "target.service")
            _check_shares(wanted)
        case IntentKind.PRESET:
            _need(target.service, wanted, "target.service")
            _check_preset(wanted.preset)
        case IntentKind.ROLLBACK:
            _need(str(wanted.revision or ""), wanted, "revision")
        case _:
            # A freeze may be about anything.
            pass
    if (target.cluster or target.endpoint) and not (target.service and target.datacenter):
        raise Invalid(
            "intent_target",
            "a cluster or an endpoint belongs to one service in one data centre: name both",
        )


def check_target(wanted: Wanted, fleet: Fleet) -> None:
    """Raise NotFound when the fleet does not have the target."""
    target = wanted.target
    if target.datacenter and target.datacenter not in {one.name for one in fleet.datacenters}:
        raise NotFound(
            "datacenter_not_found", f"data centre {target.datacenter} is not declared in the fleet"
        )
    if not target.service:
        return
    service = fleet.service(target.service)
    if target.datacenter:
        service.cluster(target.datacenter)
    if target.cluster or target.endpoint:
        _check_part(service, wanted)
    unknown = [name for name, _ in wanted.shares if name not in _names(service)]
    if unknown:
        raise NotFound(
            "cluster_not_found",
            f"service {service.name} has no cluster in {', '.join(sorted(unknown))}",
        )


def check_alone(wanted: Wanted, standing: Iterable[Intent]) -> None:
    """Raise Conflict when the same is asked about the same target already."""
    for one in standing:
        same = one.kind is wanted.kind and one.target == wanted.target
        if same and one.standing and one.ending is None:
            raise Conflict(
                "intent_exists",
                f"intent {one.id} of {one.author} already has {one.kind} of "
                f"{one.target.subject}: undo it, or let it stand",
                {"intent": one.id, "author": one.author, "reason": one.wanted.reason},
            )


def check_automation(wanted: Wanted, standing: Iterable[Intent], most: int) -> None:
    """Raise Refused when automation would take traffic from more than `most` data centres at once.

    One that has lost some already may lose more.
    """
    left = left_by_automation(standing)
    if wanted.kind in TAKING and len(left | {wanted.target.datacenter}) > most:
        raise Refused(
            "automation_limit",
            f"health and alert policies have taken traffic from {_listed(sorted(left))} already, "
            f"and may from {most} data centre(s) at once: order it by hand if it is needed, or "
            "raise most_centers of SIGNALBOX_EVACUATION",
            {"datacenters": sorted(left), "most": most},
        )


def check_restorable(wanted: Wanted, standing: Iterable[Intent]) -> None:
    """Raise Conflict when nothing that a restore covers is taken away."""
    if not any(
        one.standing and one.kind in TAKING and wanted.target.covers(one.target) for one in standing
    ):
        raise Conflict(
            "nothing_to_restore",
            f"no failover and no drain of {wanted.target.subject} stands: see the list of intents",
        )


def check_room(wanted: Wanted, plan: Plan, *, automatic: bool = False) -> None:
    """Raise Refused when nobody else can serve, or when those who can have no room.

    Args:
        automatic: nobody can be asked: without room the excess is shed, with nobody left
            nothing moves.
    """
    if wanted.force:
        return
    if plan.verdict is Verdict.NOWHERE:
        raise Refused(
            "last_serving_datacenter",
            f"{wanted.target.subject} is the last one that serves {_listed(plan.nowhere)}"
            f"{_load_of(plan, plan.nowhere)}; no other data centre can take any of it. "
            "Give --force (force: true) to do it all the same",
            numbers(plan) | {"force": FORCE, "services": list(plan.nowhere)},
        )
    if plan.verdict is Verdict.ADMIT_FIRST and not automatic:
        raise Refused(
            "no_room",
            f"those who are left have not enough room: {_excess(plan)}. Give --force "
            "(force: true) to limit these services first and then move the traffic",
            numbers(plan) | {"force": FORCE},
        )


def check_structure(wanted: Wanted, current: Content, earlier: Content) -> None:
    """Raise Refused when a rollback would change the listeners of all gateways at once.

    Routes and endpoints can be taken back in one step; a listener that does not come up cannot.
    """
    changed = [
        name
        for name in ("gateways", "l4_routes", "certificates")
        if getattr(current.routes, name) != getattr(earlier.routes, name)
    ]
    if changed and not wanted.force:
        raise Refused(
            "structural_change",
            f"revision {wanted.revision} has other {', '.join(changed)}, so every gateway would "
            "change its listeners in one untested step. Change the fleet file step by step, or "
            "give --force (force: true)",
            {"changed": changed, "force": FORCE},
        )


def numbers(plan: Plan) -> dict[str, object]:
    """A plan's figures as plain values, for details and for answers."""
    return {
        "services_without_room": [
            {
                "service": one.service,
                "expected_rps": _rounded(one.rate_rps),
                "admitted_rps": _rounded(one.admitted_rps),
            }
            for one in plan.allocations
            if one.admitted_rps is not None
        ],
        "utilization": [
            {
                "datacenter": one.datacenter,
                "pool": one.pool,
                "capacity": _rounded(one.capacity),
                "before": _rounded(one.before),
                "after": _rounded(one.after),
            }
            for one in plan.pools
        ],
    }


def _check_times(wanted: Wanted, now_s: float) -> None:
    for name, value in (("over_s", wanted.over_s), ("return_s", wanted.return_s)):
        if not 0 <= value <= LONGEST_RAMP_S:
            raise Invalid(
                "intent_time", f"{name} is {value}; it must be within 0..{LONGEST_RAMP_S:g} s"
            )
    expires_s = wanted.expires_s
    if expires_s is not None and not (math.isfinite(expires_s) and expires_s > now_s):
        raise Invalid("intent_time", "the intent would have expired before it begins")


def _need(value: str, wanted: Wanted, field: str) -> None:
    if not value:
        raise Invalid("intent_incomplete", f"{wanted.kind} needs {field}", {"field": field})


def _check_shares(wanted: Wanted) -> None:
    values = [share for _, share in wanted.shares]
    if not values or not all(math.isfinite(one) and one >= 0 for one in values) or not any(values):
        raise Invalid(
            "intent_incomplete",
            "pin needs shares: a number >= 0 for each data centre, at least one of them > 0",
            {"field": "shares"},
        )


def _check_preset(preset: Preset | None) -> None:
    if preset is None:
        raise Invalid("intent_incomplete", "preset needs its name", {"field": "preset"})
    needed = _NEEDED.get(preset.name)
    if needed is not None and getattr(preset, needed) is None:
        raise Invalid(
            "intent_incomplete",
            f"the preset {preset.name} needs {needed}",
            {"field": f"preset.{needed}"},
        )
    if preset.status not in _STATUSES:
        raise Invalid(
            "intent_incomplete",
            f"the status of a block is {preset.status}; give 403 or 503",
            {"field": "preset.status"},
        )


def _check_part(service: Service, wanted: Wanted) -> None:
    target = wanted.target
    clusters = [
        one
        for one in service.clusters
        if one.datacenter == target.datacenter and target.cluster in ("", one.name)
    ]
    names = [endpoint_name(e.address, e.port) for one in clusters for e in one.endpoints]
    if not clusters or (target.endpoint and target.endpoint not in names):
        raise NotFound(
            "intent_target_not_found",
            f"{target.subject} is not declared in the fleet: it has "
            f"{', '.join(names) if clusters else 'no cluster of that name'}",
        )


def _names(service: Service) -> set[str]:
    return {cluster.datacenter for cluster in service.centers}


def _listed(names: Iterable[str]) -> str:
    chosen = sorted(names)
    return ", ".join(chosen[:5]) + (f" and {len(chosen) - 5} more" if len(chosen) > 5 else "")


def _load_of(plan: Plan, services: Iterable[str]) -> str:
    chosen = set(services)
    rates = [one.rate_rps for one in plan.allocations if one.service in chosen]
    known = [rate for rate in rates if rate is not None]
    return f" ({math.fsum(known):.0f} requests/s)" if known else ""


def _excess(plan: Plan) -> str:
    short = [
        f"{one.service} brings {one.rate_rps:.0f} requests/s, {one.admitted_rps:.0f} have room"
        for one in plan.allocations
        if one.admitted_rps is not None and one.rate_rps is not None
    ]
    full = [
        f"{one.datacenter} would be at {one.after:.0%}"
        for one in plan.pools
        if math.isfinite(one.after) and one.after > 0 and one.after > one.before
    ]
    return "; ".join((*short[:5], *full[:5]))


def _rounded(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(value, 4)
