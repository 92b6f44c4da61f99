"""The token of one read: who fetches it, and who waits for it in order of arrival.

One agent alone keeps its lines here; several do the same steps in one script of their shared state,
and one suite tries both. A token that is not given back in time is free again, and whoever had it
can neither give back another's nor put an older answer over a newer one: each token has a fence,
and fences only grow.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How tokens are lent.

    Attributes:
        token_s: a token is free again after this time.
        wait_s: who waits longer leaves the line.
        claim_s: who does not take a free token within this time loses his place: his agent died.
        most_waiting: longest line.
    """

    token_s: float
    wait_s: float
    claim_s: float = 0.25
    most_waiting: int = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """The token; `fence` is greater than that of every token before."""

    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Somebody else has it.

    Attributes:
        ahead: how many get it before.
        again_s: when asking again is worth it, if nobody calls before.
    """

    ahead: int
    again_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Full:
    """Too many wait."""


Taken = Granted | Waiting | Full


@dataclass(frozen=True, slots=True, kw_only=True)
class _Holder:
    waiter: str
    fence: int
    until_s: float


class Line:
    """One read."""

    __slots__ = ("_holder", "_offered", "_offered_s", "_waiting")

    def __init__(self) -> None:
        self._holder: _Holder | None = None
        # Waiter -> until when it waits, in order of arrival.
        self._waiting: dict[str, float] = {}
        self._offered = ""
        self._offered_s = 0.0

    def empty(self, now_s: float) -> bool:
        """Whether nobody has or wants the token, so that the line need not be kept."""
        wanted = any(until > now_s for until in self._waiting.values())
        return self._current(now_s) is None and not wanted

    def take(self, waiter: str, terms: Terms, now_s: float, fence: int) -> Taken:
        """Ask for the token, for the first time or again; the place in line stays.

        Args:
            fence: of the token if it is granted.
        """
        holder = self._current(now_s)
        if holder is not None and holder.waiter == waiter:
            # The answer to the first question was lost on its way.
            return Granted(fence=holder.fence)
        if waiter not in self._waiting:
            self._drop_late(now_s)
            busy = holder is not None or bool(self._waiting)
            if busy and len(self._waiting) >= terms.most_waiting:
                return Full()
            self._waiting[waiter] = now_s + terms.wait_s
        if holder is None:
            return self._offer(waiter, terms, now_s, fence)
        ahead = list(self._waiting).index(waiter)
        return Waiting(ahead=ahead, again_s=holder.until_s - now_s)

    def release(self, waiter: str, fence: int) -> bool:
        """Give the token back; False when it is another's by now."""
        holder = self._holder
        if holder is None or holder.waiter != waiter or holder.fence != fence:
            return False
        self._holder = None
        return True

    def finish(self, waiter: str, fence: int) -> bool:
        """Give the token back with an answer that all who wait get: nobody waits any more."""
        released = self.release(waiter, fence)
        if released:
            self._waiting.clear()
        return released

    def leave(self, waiter: str) -> bool:
        """Wait no longer; whether somebody else is first because of it."""
        was_first = self.first == waiter
        self._waiting.pop(waiter, None)
        return was_first

    @property
    def first(self) -> str:
        """Who is next; "" is nobody."""
        return next(iter(self._waiting), "")

    def _current(self, now_s: float) -> _Holder | None:
        """Who has the token, unless its time is over."""
        holder = self._holder
        return holder if holder is not None and now_s < holder.until_s else None

    def _drop_late(self, now_s: float) -> None:
        self._waiting = {who: until for who, until in self._waiting.items() if until > now_s}

    def _offer(self, waiter: str, terms: Terms, now_s: float, fence: int) -> Taken:
        """The token is free: it goes to the first, who has a moment to take it."""
        while (first := self.first) != waiter:
            late = self._waiting[first] <= now_s
            if not late and first != self._offered:
                self._offered, self._offered_s = first, now_s
            if not late and now_s < self._offered_s + terms.claim_s:
                left_s = self._offered_s + terms.claim_s - now_s
                return Waiting(ahead=list(self._waiting).index(waiter), again_s=left_s)
            del self._waiting[first]
        del self._waiting[waiter]
        self._holder = _Holder(waiter=waiter, fence=fence, until_s=now_s + terms.token_s)
        self._offered = ""
        return Granted(fence=fence)
