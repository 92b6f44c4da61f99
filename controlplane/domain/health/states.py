"""States of endpoints and of data centres, as tables.

Read by `judging` and by everyone who shows or acts on health. An event that a table does not name
changes nothing: facts are told again and again.
"""

from collections.abc import Mapping
from enum import StrEnum


class EndpointState(StrEnum):
    """Whether an endpoint may get requests.

    `unknown` was never judged: it is used unless it joined others of its cluster that were well
    already. `forced` is used whatever its checks say, `draining` gets nothing new; both are an
    operator's word.
    """

    UNKNOWN = "unknown"
    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"
    DRAINING = "draining"
    FORCED = "forced"


class EndpointEvent(StrEnum):
    """What observers agree on, or what an operator says; `released` takes that word back."""

    PASSED = "passed"
    FAILED = "failed"
    DRAINED = "drained"
    FORCED = "forced"
    RELEASED = "released"


class CenterState(StrEnum):
    """What a data centre does. `degraded` serves, but something of it is down; `evacuated` gets
    nothing; `returning` gets more step by step."""

    SERVING = "serving"
    DEGRADED = "degraded"
    DRAINING = "draining"
    EVACUATED = "evacuated"
    RETURNING = "returning"


class CenterEvent(StrEnum):
    """What happens to a data centre: the first two are facts, the others what was done with it."""

    IMPAIRED = "impaired"
    SOUND = "sound"
    DRAIN = "drain"
    EVACUATE = "evacuate"
    RETURN = "return"
    RETURNED = "returned"


_E, _V = EndpointState, EndpointEvent
_BY_CHECKS = {
    (state, event): result
    for state in (_E.UNKNOWN, _E.HEALTHY, _E.UNHEALTHY)
    for event, result in ((_V.PASSED, _E.HEALTHY), (_V.FAILED, _E.UNHEALTHY))
}
_BY_WORD = {
    (state, event): result
    for state in EndpointState
    for event, result in ((_V.DRAINED, _E.DRAINING), (_V.FORCED, _E.FORCED))
}
# Released, an endpoint is what its checks say next; until then nothing is known of it.
_RELEASED = {(state, _V.RELEASED): _E.UNKNOWN for state in (_E.DRAINING, _E.FORCED)}

ENDPOINT_TABLE: Mapping[tuple[EndpointState, EndpointEvent], EndpointState] = {
    **_BY_CHECKS,
    **_BY_WORD,
    **_RELEASED,
}

_C, _N = CenterState, CenterEvent
CENTER_TABLE: Mapping[tuple[CenterState, CenterEvent], CenterState] = {
    (_C.SERVING, _N.IMPAIRED): _C.DEGRADED,
    (_C.SERVING, _N.DRAIN): _C.DRAINING,
    (_C.SERVING, _N.EVACUATE): _C.EVACUATED,
    (_C.DEGRADED, _N.SOUND): _C.SERVING,
    (_C.DEGRADED, _N.DRAIN): _C.DRAINING,
    (_C.DEGRADED, _N.EVACUATE): _C.EVACUATED,
    (_C.DRAINING, _N.EVACUATE): _C.EVACUATED,
    (_C.DRAINING, _N.RETURN): _C.RETURNING,
    (_C.EVACUATED, _N.RETURN): _C.RETURNING,
    (_C.RETURNING, _N.RETURNED): _C.SERVING,
    (_C.RETURNING, _N.DRAIN): _C.DRAINING,
    (_C.RETURNING, _N.EVACUATE): _C.EVACUATED,
}


def endpoint_after(state: EndpointState, event: EndpointEvent) -> EndpointState:
    """The state of an endpoint after an event."""
    return ENDPOINT_TABLE.get((state, event), state)


def center_after(state: CenterState, event: CenterEvent) -> CenterState:
    """The state of a data centre after an event."""
    return CENTER_TABLE.get((state, event), state)
