"""What standing intents are to health: data centres that leave or return, endpoints that drain.

Called by the engine at each look at health. An intent that is over is no order, so a data centre is
what its health says again. One that gave way to a later one takes nothing: the endpoints that it
names are those that must serve, whatever their checks say.
"""

from collections.abc import Iterable, Iterator

from controlplane.domain.health.judging import Orders, endpoint_keys
from controlplane.domain.health.picture import EndpointKey
from controlplane.domain.health.states import CenterEvent, EndpointEvent
from controlplane.domain.intents.intent import Intent, IntentKind, IntentState, Target
from controlplane.domain.intents.overlay import passed_over
from controlplane.domain.intents.presence import TAKING, Removal, removals
from controlplane.domain.snapshot import Content
from controlplane.domain.topology import Fleet


def orders(intents: Iterable[Intent], fleet: Fleet, content: Content, now_s: float) -> Orders:
    """What the intents do at a time; of several about a data centre the strictest counts.

    Args:
        content: what is published.
    """
    standing = tuple(one for one in intents if one.standing)
    passed = passed_over(content, standing, now_s)
    rising = tuple(_rising(one for one in standing if one.number not in passed))
    centers: dict[str, CenterEvent] = {}
    drained: dict[EndpointKey, EndpointEvent] = {}
    forced: dict[EndpointKey, EndpointEvent] = {}
    for taken in removals(standing, now_s):
        if not (taken.begun and taken.level < 1):
            continue
        if taken.number in passed:
            if _is_part(taken.target):
                forced.update(dict.fromkeys(_keys(fleet, taken.target), EndpointEvent.FORCED))
        elif _is_center(taken.target):
            event = _event(taken, rising)
            earlier = centers.get(taken.target.datacenter, event)
            centers[taken.target.datacenter] = max(earlier, event, key=_STRICTNESS.index)
        elif _is_part(taken.target):
            drained.update(dict.fromkeys(_keys(fleet, taken.target), EndpointEvent.DRAINED))
    return Orders(endpoints=forced | drained, centers=centers)


_STRICTNESS = (CenterEvent.RETURN, CenterEvent.DRAIN, CenterEvent.EVACUATE)


def _rising(intents: Iterable[Intent]) -> Iterator[tuple[int, Target]]:
    """Who gets traffic back: what a restore covers, and what is being taken back itself."""
    for one in intents:
        if one.kind is IntentKind.RESTORE and one.state is IntentState.ACTIVE:
            yield one.number, one.target
        elif one.kind in TAKING and one.state is IntentState.RETURNING:
            yield one.number + 1, one.target


def _event(taken: Removal, rising: Iterable[tuple[int, Target]]) -> CenterEvent:
    if any(number > taken.number and target.covers(taken.target) for number, target in rising):
        return CenterEvent.RETURN
    return CenterEvent.EVACUATE if taken.level <= 0 else CenterEvent.DRAIN


def _is_part(target: Target) -> bool:
    return bool(target.cluster or target.endpoint)


def _is_center(target: Target) -> bool:
    return bool(target.datacenter) and not (target.service or target.cluster or target.endpoint)


def _keys(fleet: Fleet, target: Target) -> Iterator[EndpointKey]:
    for service in fleet.services:
        for key in endpoint_keys(service):
            own = Target(
                service=key.service,
                datacenter=key.datacenter,
                cluster=key.cluster,
                endpoint=key.name,
            )
            if target.covers(own):
                yield key
