"""The tables of endpoints and data centres."""

import pytest

from controlplane.domain.health.states import (
    CENTER_TABLE,
    CenterEvent,
    CenterState,
    EndpointEvent,
    EndpointState,
    center_after,
    endpoint_after,
)

E, V = EndpointState, EndpointEvent
C, N = CenterState, CenterEvent


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ((), E.UNKNOWN),
        ((V.PASSED,), E.HEALTHY),
        ((V.FAILED,), E.UNHEALTHY),
        ((V.FAILED, V.PASSED), E.HEALTHY),
        ((V.PASSED, V.FAILED, V.FAILED), E.UNHEALTHY),
        ((V.RELEASED,), E.UNKNOWN),
        ((V.DRAINED, V.PASSED), E.DRAINING),
        ((V.DRAINED, V.FAILED), E.DRAINING),
        ((V.FORCED, V.FAILED), E.FORCED),
        ((V.FORCED, V.DRAINED), E.DRAINING),
        ((V.DRAINED, V.RELEASED), E.UNKNOWN),
        ((V.DRAINED, V.RELEASED, V.PASSED), E.HEALTHY),
        ((V.FORCED, V.RELEASED, V.FAILED), E.UNHEALTHY),
    ],
)
def test_an_endpoint_follows_its_checks_and_an_operators_word(
    events: tuple[EndpointEvent, ...], state: EndpointState
) -> None:
    found = E.UNKNOWN
    for event in events:
        found = endpoint_after(found, event)
    assert found is state


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ((N.SOUND,), C.SERVING),
        ((N.IMPAIRED,), C.DEGRADED),
        ((N.IMPAIRED, N.SOUND), C.SERVING),
        ((N.IMPAIRED, N.EVACUATE), C.EVACUATED),
        ((N.DRAIN, N.IMPAIRED), C.DRAINING),
        ((N.DRAIN, N.EVACUATE), C.EVACUATED),
        ((N.DRAIN, N.RETURN), C.RETURNING),
        ((N.EVACUATE, N.SOUND), C.EVACUATED),
        ((N.EVACUATE, N.RETURN, N.SOUND), C.RETURNING),
        ((N.EVACUATE, N.RETURN, N.RETURNED), C.SERVING),
        ((N.EVACUATE, N.RETURN, N.EVACUATE), C.EVACUATED),
        ((N.EVACUATE, N.RETURN, N.DRAIN), C.DRAINING),
    ],
)
def test_a_data_centre_is_moved_by_what_is_done_with_it(
    events: tuple[CenterEvent, ...], state: CenterState
) -> None:
    found = C.SERVING
    for event in events:
        found = center_after(found, event)
    assert found is state


def test_facts_alone_never_evacuate() -> None:
    facts = (N.IMPAIRED, N.SOUND)
    results = {result for (_, event), result in CENTER_TABLE.items() if event in facts}
    assert results == {C.SERVING, C.DEGRADED}
