"""What requests themselves say about a cluster, as gateways and application clients tell it.

Called with what was told. A cluster whose requests fail for most of those who send some is out,
although its checks pass; checks that pass bring it back after a time that grows with repetition,
by the rules of `ejection`. A single reporter may be the one that is cut off: it is told, not acted
on, unless the limits say otherwise.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from controlplane.domain.health.ejection import WELL, Event, Limits, State, after
from controlplane.domain.health.ejection import Health as Ejection

TOGETHER_S = 1.0
EJECTION = Limits(failures=2, passed_probes=2, base_s=30.0, most_s=300.0, forget_s=600.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassiveLimits:
    """From where on failing requests count.

    Attributes:
        window_s: what was told longer ago is forgotten; more than the pause between two reports.
        least_requests: fewer of one reporter say nothing; >= 1.
        failing_ratio: of a reporter's requests, 0..1; from here on it says that the cluster fails.
        least_reporters: so many must have sent enough before any of it is acted on; >= 1.
        ejection: reports in a row that put a cluster out, and how long it stays so.
    """

    window_s: float = 15.0
    least_requests: int = 20
    failing_ratio: float = 0.5
    least_reporters: int = 2
    ejection: Limits = EJECTION


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """Requests to one cluster as one reporter counted them since its last report."""

    reporter: str
    time_s: float
    served: int
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Passive:
    """One cluster in its requests' eyes.

    Attributes:
        tellings: within the window, oldest first.
        ejection: whether it is out.
        ratio: failed requests of all in the window, 0..1; 0 without any.
        alone: it would fail, were there more reporters.
    """

    tellings: tuple[Telling, ...] = ()
    ejection: Ejection = WELL
    ratio: float = 0.0
    alone: bool = False

    @property
    def failing(self) -> bool:
        """Whether it should get no requests."""
        return self.ejection.state is State.OUT


QUIET = Passive()


def told(passive: Passive, telling: Telling, limits: PassiveLimits) -> Passive:
    """The cluster after one more report."""
    now_s = telling.time_s
    kept = _with(_recent(passive.tellings, now_s, limits), telling)
    fails, reporters = _fails(kept, limits)
    enough = reporters >= limits.least_reporters
    event = Event.FAILED if fails and enough else Event.SERVED
    ejection = passive.ejection
    if reporters:
        ejection = after(ejection, event, now_s, limits.ejection)
    return Passive(tellings=kept, ejection=ejection, ratio=_ratio(kept), alone=fails and not enough)


def looked_at(passive: Passive, checks: Event, now_s: float, limits: PassiveLimits) -> Passive:
    """The cluster after a look at its checks, which is how one that gets no requests returns.

    Args:
        checks: `probe_passed` or `probe_failed`.
    """
    kept = _recent(passive.tellings, now_s, limits)
    fails, reporters = _fails(kept, limits)
    ejection = passive.ejection
    if ejection.state is not State.HEALTHY:
        ejection = after(ejection, checks, now_s, limits.ejection)
    return Passive(
        tellings=kept,
        ejection=ejection,
        ratio=_ratio(kept),
        alone=fails and reporters < limits.least_reporters,
    )


def still_out(now_s: float, limits: PassiveLimits) -> Passive:
    """A cluster that was out before a restart, which keeps no counts: its time out begins again."""
    until_s = now_s + limits.ejection.base_s
    return Passive(ejection=Ejection(state=State.OUT, times=1, until_s=until_s))


def _recent(
    tellings: Iterable[Telling], now_s: float, limits: PassiveLimits
) -> tuple[Telling, ...]:
    # Also what seems to come from the future: the clock has gone back since.
    return tuple(one for one in tellings if abs(now_s - one.time_s) < limits.window_s)


def _with(tellings: tuple[Telling, ...], telling: Telling) -> tuple[Telling, ...]:
    """With one more; those of one reporter within `TOGETHER_S` are one, so that nobody fills the
    memory by telling often."""
    for place in range(len(tellings) - 1, -1, -1):
        one = tellings[place]
        if one.reporter == telling.reporter:
            if abs(telling.time_s - one.time_s) >= TOGETHER_S:
                break
            merged = replace(
                one, served=one.served + telling.served, failed=one.failed + telling.failed
            )
            return (*tellings[:place], merged, *tellings[place + 1 :])
    return (*tellings, telling)


def _fails(tellings: Sequence[Telling], limits: PassiveLimits) -> tuple[bool, int]:
    """Whether most of those who sent enough say so, and how many did."""
    sums: dict[str, tuple[int, int]] = {}
    for one in tellings:
        served, failed = sums.get(one.reporter, (0, 0))
        sums[one.reporter] = (served + one.served, failed + one.failed)
    judged = [(s, f) for s, f in sums.values() if s + f >= limits.least_requests]
    bad = sum(failed >= limits.failing_ratio * (served + failed) for served, failed in judged)
    return 2 * bad > len(judged), len(judged)


def _ratio(tellings: Sequence[Telling]) -> float:
    failed = sum(one.failed for one in tellings)
    total = failed + sum(one.served for one in tellings)
    return failed / total if total else 0.0
