"""Which items a local Envoy refuses, when its words do not say: halves, and halves of halves.

Called by `quarantine`. Each question starts a process (about 60 ms, more on a busy machine), so
their number and time are bounded; what was not judged within the bound is held like what was
refused, because it was never accepted.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from controlplane.adapters.envoy.forms import FORMS, kind_of

# The words of an Envoy that refuses these items alone, None when it takes them.
Ask = Callable[[Sequence[str]], Awaitable[str | None]]

NOT_JUDGED = "not judged: too many items are new for the time that a check may take"


@dataclass(slots=True, kw_only=True)
class Search:
    """One search; `questions` counts down, `late` tells that the time is up."""

    ask: Ask
    late: Callable[[], bool]
    questions: int = 64

    async def refused(self, suspects: Sequence[str]) -> dict[str, str]:
        """Subject -> words for the suspects that are refused, services before what needs them."""
        for kind in FORMS:
            group = [subject for subject in suspects if kind_of(subject) == kind]
            found = await self._among(group)
            if found:
                # Routes are judged without the bad services: the caller leaves those out first.
                return found
        return {}

    async def _among(self, suspects: Sequence[str], known: str | None = None) -> dict[str, str]:
        if not suspects:
            return {}
        if self.late() or self.questions <= 0:
            return dict.fromkeys(suspects, NOT_JUDGED)
        words = known
        if words is None:
            self.questions -= 1
            words = await self.ask(suspects)
        if words is None:
            return {}
        if len(suspects) == 1:
            return {suspects[0]: words}
        middle = len(suspects) // 2
        first = await self._among(suspects[:middle])
        # A half that is taken leaves the blame with the other one, unless it is a single item:
        # then its own words are wanted, which may be others.
        rest = suspects[middle:]
        blame = words if not first and len(rest) > 1 else None
        return {**first, **await self._among(rest, blame)}
