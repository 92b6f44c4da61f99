"""Runs a coroutine as far as it comes without waiting, before anybody starts a timer for it.

Used by `pipeline`: most policies judge by what they have at hand, and a timer for each of them
would cost more than the judgment. Nothing is lost by it: a deadline cannot end what never waits.
"""

from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Ready(Generic[Result]):
    """It came to its end."""

    result: Result


@dataclass(frozen=True, slots=True)
class Waits(Generic[Result]):
    """It waits for something: await this in the task that began it.

    Attributes:
        coroutine: begun, and suspended.
        awaited: what it gave to the event loop, which has not seen it yet.
    """

    coroutine: Coroutine[Any, Any, Result]
    awaited: Any

    def __await__(self) -> Generator[Any, Any, Result]:
        # As `yield from` of the coroutine, whose first step has been made already (PEP 380).
        awaited = self.awaited
        step: Callable[[Any], Any]
        while True:
            try:
                sent = yield awaited
            except GeneratorExit:
                self.coroutine.close()
                raise
            except BaseException as error:  # noqa: BLE001 - it is the coroutine's, and goes on there
                step, given = self.coroutine.throw, error
            else:
                step, given = self.coroutine.send, sent
            try:
                awaited = step(given)
            except StopIteration as ended:
                return ended.value  # type: ignore[no-any-return]


def begun(coroutine: Coroutine[Any, Any, Result]) -> Ready[Result] | Waits[Result]:
    """Make the first step; what it raises comes through."""
    try:
        awaited = coroutine.send(None)
    except StopIteration as ended:
        return Ready(ended.value)
    return Waits(coroutine, awaited)
