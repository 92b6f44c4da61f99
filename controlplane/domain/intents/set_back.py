"""Intents under a clock that was set back.

Called by the engine when it sees that. Their ramps and expiries are as far away as before, so that
a drain does not begin anew and what was asked for two hours does not stand for three.
"""

from dataclasses import replace

from controlplane.domain.intents.intent import Intent


def moved_back(intent: Intent, by_s: float, change: int) -> Intent:
    """The intent with its times earlier by `by_s` (> 0); when it was made stays, because its record
    is known by that."""
    wanted = replace(intent.wanted, expires_s=_earlier(intent.wanted.expires_s, by_s))
    return replace(
        intent,
        wanted=wanted,
        active_s=_earlier(intent.active_s, by_s),
        returning_s=_earlier(intent.returning_s, by_s),
        change=change,
    )


def ahead_s(intent: Intent, now_s: float) -> float:
    """How far its newest step lies in the future; all that can be seen of it after a restart."""
    return max(intent.active_s or 0.0, intent.returning_s or 0.0) - now_s


def _earlier(time_s: float | None, by_s: float) -> float | None:
    return None if time_s is None else time_s - by_s
