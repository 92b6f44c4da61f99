"""How much is asked of one upstream, by this agent and by all, and whether it is protected.

Each request is counted here at once and told to the others in batches, so that no request waits
for the shared state.
"""

import asyncio
from dataclasses import dataclass

from controlplane.domain.admission.overload.deciding import Protection
from controlplane.domain.admission.overload.policy import OverloadPolicy
from controlplane.domain.admission.overload.window import SLOTS, SlidingCount
from controlplane.domain.errors import Retryable
from gateway.state.ports import WindowRule, Windows

# Between two tellings; and after this time what was heard last is no longer believed.
SHARE_S, OLD_S = 0.1, 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What an upstream is asked for now.

    Attributes:
        count: requests in the window, with this one.
        since_s: monotonic, when its protection began; None while it is not protected.
    """

    count: float
    since_s: float | None


class Watch:
    """One upstream.

    Args:
        windows: what all agents count in.
        key: of the upstream there.
    """

    def __init__(self, spec: OverloadPolicy, windows: Windows, key: str) -> None:
        self._spec = spec
        self._windows = windows
        self._key = key
        self._rule = WindowRule(window_s=spec.window_s, slots=SLOTS)
        self._own = SlidingCount(spec.window_s)
        self._protection = Protection()
        self._untold = 0
        self._heard = 0.0
        self._heard_s = float("-inf")
        self._told_s = float("-inf")
        self._telling: asyncio.Task[None] | None = None

    async def add(self, now_s: float) -> Load:
        """Count one request.

        Args:
            now_s: monotonic.
        """
        self._own.add(now_s)
        self._untold += 1
        if now_s - self._told_s >= SHARE_S and self._telling is None:
            self._told_s = now_s
            self._telling = asyncio.create_task(self._tell(now_s))
            if now_s - self._heard_s > OLD_S:
                # After a pause nobody knows what the others did meanwhile. Waited for from outside:
                # a policy that changes ends the task, and must not end the request with it.
                await asyncio.wait((self._telling,))
        return self._load(now_s)

    async def close(self) -> None:
        """Tell nobody any more."""
        if self._telling is not None:
            self._telling.cancel()
            await asyncio.wait((self._telling,))

    def _load(self, now_s: float) -> Load:
        threshold: float = self._spec.threshold
        if now_s - self._heard_s <= OLD_S:
            count = max(self._heard + self._untold, self._own.count(now_s))
        else:
            count = self._own.count(now_s)
            threshold *= self._spec.alone_share
        self._protection = self._protection.after(count, threshold, now_s)
        return Load(count=count, since_s=self._protection.since_s)

    async def _tell(self, now_s: float) -> None:
        told, self._untold = self._untold, 0
        try:
            found = await self._windows.add(self._key, told, self._rule)
            self._heard, self._heard_s = found.count, now_s
        except Retryable:
            # It may have been counted: rather once too little than twice.
            pass
        finally:
            self._telling = None
