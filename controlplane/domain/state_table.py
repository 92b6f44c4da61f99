"""State machines as tables, (state, event) -> state: what follows, and the refusal of the rest.

Called by jobs, intents and planned changes; a record says besides when it came into its state.
Routes refuse in words of their own, and health passes over what its tables do not name.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from controlplane.domain.errors import Conflict

State = TypeVar("State", bound=StrEnum)
Event = TypeVar("Event", bound=StrEnum)


def state_after(
    code: str,
    table: Mapping[tuple[State, Event], State],
    state: State,
    event: Event,
    record: tuple[str, str],
) -> State:
    """The state that an event leads to.

    Args:
        code: of the refusal.
        record: kind and name of what is in the state, as ("job", "tickets-1").

    Raises:
        Conflict: the table does not have the event in this state.
    """
    following = table.get((state, event))
    if following is None:
        kind, name = record
        raise Conflict(
            code,
            f"{kind} {name} is {state}: there is nothing to {event}",
            {"state": state.value, kind: name},
        )
    return following
