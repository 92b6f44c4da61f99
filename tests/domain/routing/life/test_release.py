"""The life of a route is one table."""

import pytest

from controlplane.domain.errors import Conflict
from controlplane.domain.routing.life.release import TRANSITIONS, Life, LifeEvent, after


def test_a_route_goes_from_draft_over_gray_to_full_and_is_retired() -> None:
    life = Life.NEW
    for event, expected in (
        (LifeEvent.WRITE, Life.DRAFT),
        (LifeEvent.GRAY, Life.GRAY),
        (LifeEvent.STEP, Life.GRAY),
        (LifeEvent.PUBLISH, Life.FULL),
        (LifeEvent.RETIRE, Life.RETIRED),
        (LifeEvent.DISCARD, Life.NEW),
    ):
        life = after("r", life, event)
        assert life is expected


@pytest.mark.parametrize("life", Life)
@pytest.mark.parametrize("event", LifeEvent)
def test_what_the_table_does_not_name_is_a_conflict_that_says_what_to_do(
    life: Life, event: LifeEvent
) -> None:
    if (life, event) in TRANSITIONS:
        assert after("r", life, event) is TRANSITIONS[life, event]
        return
    with pytest.raises(
        Conflict, match=f"route r is {life}, so it cannot [a-z ]+: [a-z]+"
    ) as caught:
        after("r", life, event)
    assert caught.value.details == {"life": life, "event": event}
