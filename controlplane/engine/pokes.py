"""The mailbox of the loop: who asks for a tick, and when to start one.

Timer, alarms and operators poke; the loop takes everything that came. A burst becomes one tick:
it starts after a short quiet time, with a maximum wait.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from controlplane.domain.decisions import Trigger


@dataclass(frozen=True, slots=True, kw_only=True)
class Poke:
    """One reason for a tick.

    Attributes:
        services: None is all of them.
        due_s: when the calendar wanted it, UTC epoch seconds; None when nobody waited for it.
    """

    trigger: Trigger
    services: frozenset[str] | None = None
    due_s: float | None = None


class Pokes:
    """Collects pokes; one task takes them.

    Args:
        quiet_s: a tick starts after this time without another poke.
        wait_s: and after this time in any case.
    """

    def __init__(self, quiet_s: float = 0.005, wait_s: float = 0.1) -> None:
        self._quiet_s = quiet_s
        self._wait_s = wait_s
        self._waiting: list[Poke] = []
        self._poked = asyncio.Event()
        self._urgent = asyncio.Event()
        self.behind = False

    def poke(
        self,
        trigger: Trigger,
        services: Iterable[str] | None = None,
        due_s: float | None = None,
    ) -> None:
        """Ask for a tick soon; never blocks, may be called any number of times."""
        chosen = None if services is None else frozenset(services)
        self._waiting.append(Poke(trigger=trigger, services=chosen, due_s=due_s))
        self._poked.set()

    def catch_up(self) -> None:
        """Tell that the store has a newer snapshot, which another process wrote."""
        self.behind = True
        self._poked.set()

    def hurry(self) -> None:
        """Ask that intents be put over what is published, now and whatever else is under way."""
        self._urgent.set()
        self._poked.set()

    @property
    def urgent(self) -> bool:
        """Whether somebody hurries."""
        return self._urgent.is_set()

    async def hurried(self) -> None:
        """Wait until somebody hurries."""
        await self._urgent.wait()

    def heard(self) -> None:
        """Who hurried is served from here on."""
        self._urgent.clear()

    async def take(self) -> list[Poke]:
        """Wait for the first poke and for the burst around it, then hand over all of them.

        Nothing, at once, when somebody hurries: the burst can wait.
        """
        await self._poked.wait()
        if self.urgent:
            if not self._waiting:
                self._poked.clear()
            return []
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._wait_s
        seen = 0
        while seen != len(self._waiting) and loop.time() < deadline:
            seen = len(self._waiting)
            await asyncio.sleep(self._quiet_s)
        taken, self._waiting = self._waiting, []
        self._poked.clear()
        return taken

    def again(self, pokes: Iterable[Poke], after_s: float) -> None:
        """Put pokes back after a pause, when their tick could not be finished."""
        kept = list(pokes)

        def put_back() -> None:
            self._waiting.extend(kept)
            self._poked.set()

        asyncio.get_running_loop().call_later(after_s, put_back)
