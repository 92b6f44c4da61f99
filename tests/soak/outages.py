"""A data centre fails and comes back, again and again, while everything else goes on.

Part of the story: health finds it, all traffic leaves, nothing is learned of it, and it returns by
itself. Real seconds are never scaled here, because what fails is real.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from tests.soak.places import Fault, Place
from tests.soak.player import NAMES, Player
from tests.soak.server import Server

# The other data centre bears so much with room to spare, by what it is declared to bear (300).
LIGHT_RPS = 200.0
# From the fault until no request goes there. Checks each 250 ms; one that hangs takes 0.6 s.
AWAY_S = 3.0
# What was out stays out for 16 checks (4 s); then the way back.
BACK_S = 20.0
CALM_S = 120.0
LOOK_S = 0.005


@dataclass(slots=True, kw_only=True)
class Outages:
    """What happened to the larger data centre.

    Attributes:
        spans: simulated minutes between a fault and the end of the way back.
        away_ms: from each fault until the weights sent nobody there; `back_s` from its end until
            they did again and no intent stood any more.
    """

    server: Server
    player: Player
    place: Place
    spans: list[tuple[int, int]] = field(default_factory=list)
    away_ms: list[float] = field(default_factory=list)
    back_s: list[float] = field(default_factory=list)

    async def strike(self, faults: Sequence[Fault]) -> None:
        """One after the other, each when the other data centre has room."""
        for fault in faults:
            await self._until("light load", self._is_light, CALM_S)
            began = self.player.minute
            await self.place.fail(fault)
            self.player.silent.add(NAMES[0])
            away_s = await self._until(f"away from what {fault}", self._is_away, AWAY_S)
            self.away_ms.append(away_s * 1_000)
            (intent,) = await self._standing()
            assert (intent["author"], intent["kind"]) == ("health", "failover"), intent
            await self.place.heal()
            self.player.silent.clear()
            self.back_s.append(await self._until("back again", self._is_back, BACK_S))
            self.spans.append((began, self.player.minute + 1))

    def judge(self, values: dict[str, float]) -> None:
        """Write the figures down."""
        values |= {
            "outages": len(self.spans),
            "fault_to_away_ms_max": round(max(self.away_ms), 1),
            "end_to_back_s_max": round(max(self.back_s), 2),
        }

    def covers(self, minute: float) -> bool:
        """Whether a simulated minute was in an outage or on the way back."""
        return any(begin <= minute <= end for begin, end in self.spans)

    async def _is_light(self) -> bool:
        last = self.player.seen[-1]
        return 0.0 < last.ratio < 1.0 and sum(last.offered_rps) < LIGHT_RPS

    async def _is_away(self) -> bool:
        return self.player.ratio == 0.0

    async def _is_back(self) -> bool:
        return self.player.ratio > 0.0 and not await self._standing()

    async def _standing(self) -> list[dict]:
        return await self.server.items("/v1/intents", standing="true")

    async def _until(
        self, what: str, holds: Callable[[], Awaitable[bool]], within_s: float
    ) -> float:
        """Wait for something; the seconds that it took."""
        began_s = time.perf_counter()
        while not await holds():
            took_s = time.perf_counter() - began_s
            if took_s > within_s:
                found = [one["message"] for one in await self.server.items("/v1/findings")]
                raise AssertionError(f"{what} not within {within_s:g} s: {found}")
            await asyncio.sleep(LOOK_S)
        return time.perf_counter() - began_s
