"""Whole answers that wait for a proxy which takes a status only (nginx), each to be fetched once.

Bounded in count, bytes and time: what is not fetched in a few seconds is gone, and its client gets
a plain answer.
"""

import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from gateway.admission.enforcing import Answer

MOST_ANSWERS = 10_000
MOST_BYTES = 16_777_216
LASTS_S = 5.0
# Beside its body an answer has headers.
OVERHEAD_BYTES = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parked:
    answer: Answer
    ends_s: float

    @property
    def size(self) -> int:
        return len(self.answer.body) + OVERHEAD_BYTES


class ParkedAnswers:
    """Answers by a name that nobody can guess."""

    def __init__(self, monotonic_s: Callable[[], float]) -> None:
        self._monotonic_s = monotonic_s
        self._parked: OrderedDict[str, _Parked] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._parked)

    def park(self, answer: Answer) -> str:
        """Keep an answer and return its name."""
        now_s = self._monotonic_s()
        name = secrets.token_urlsafe(12)
        parked = _Parked(answer=answer, ends_s=now_s + LASTS_S)
        self._parked[name] = parked
        self._bytes += parked.size
        while self._parked and self._too_much(now_s):
            _, oldest = self._parked.popitem(last=False)
            self._bytes -= oldest.size
        return name

    def fetch(self, name: str) -> Answer | None:
        """The answer of a name, once; None when it is gone."""
        parked = self._parked.pop(name, None)
        if parked is None:
            return None
        self._bytes -= parked.size
        return parked.answer if parked.ends_s > self._monotonic_s() else None

    def _too_much(self, now_s: float) -> bool:
        oldest = next(iter(self._parked.values()))
        full = len(self._parked) > MOST_ANSWERS or self._bytes > MOST_BYTES
        return full or oldest.ends_s <= now_s
