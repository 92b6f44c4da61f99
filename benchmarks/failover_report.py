"""What the requests around a fault tell, and the figures of all faults.

Used by `benchmarks.failover`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import fmean

from benchmarks.failover_faults import Fault
from benchmarks.failover_front import LARGER
from benchmarks.failover_load import Outcome

# One attempt may take 250 ms; whoever waits longer has met the fault.
LATE_MS = 250.0
MOVED = 0.12
# Of the difference of two shares; chance exceeds them once in 16,000 faults, but 12 points of a few
# hundred requests in every fourth run of sixty faults.
STANDARD_ERRORS = 4.0
REPAIRED_MS = 1_000.0


class Scope(StrEnum):
    """What fails at once: a data centre, or the cluster of one service in it."""

    CENTER = "center"
    CLUSTER = "cluster"


@dataclass(frozen=True, slots=True, kw_only=True)
class Struck:
    """One fault.

    Attributes:
        hit: services whose endpoints failed.
        isolated_ms: until Envoy used none of these; None when it did all the time.
        published_ms: until the control plane had published that they get nothing.
        repaired_ms: until the last failed or late request had ended; 0 without any.
        moved: whether another service changed its split.
        retries_errors: whether the services say that their errors are tried again.
    """

    fault: Fault
    scope: Scope
    centers: int
    hit: Sequence[str]
    at_s: float
    until_s: float
    isolated_ms: float | None
    published_ms: float | None = None
    repaired_ms: float = 0.0
    sent: int = 0
    failed: int = 0
    late: int = 0
    moved: bool = False
    retries_errors: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Everything that was measured.

    Attributes:
        calls_ms: of an operator, to the first request from which on all obey; None is never.
        alone: a kill while the control plane was dead, too.
    """

    struck: Sequence[Struck]
    calls_ms: Sequence[float | None]
    alone: Struck


def since_ms(begin_s: float, end_s: float | None) -> float | None:
    """Milliseconds between two instants."""
    return None if end_s is None else (end_s - begin_s) * 1_000


def judged(outcomes: Sequence[Outcome], struck: Struck) -> Struck:
    """The fault with what became of the requests that it could meet."""
    met = [o for o in outcomes if o.ended_s >= struck.at_s and o.sent_s < struck.until_s]
    failed = [o for o in met if o.failed]
    late = [o for o in met if not o.failed and o.took_s * 1_000 > LATE_MS]
    last_s = max((o.ended_s for o in (*failed, *late)), default=struck.at_s)
    return replace(
        struck,
        repaired_ms=(last_s - struck.at_s) * 1_000,
        sent=len(met),
        failed=len(failed),
        late=len(late),
        moved=_moved(outcomes, struck),
    )


def _moved(outcomes: Sequence[Outcome], struck: Struck) -> bool:
    others = [o for o in outcomes if o.service not in struck.hit and o.center]
    before = [o.center == LARGER for o in others if o.sent_s < struck.at_s]
    during = [o.center == LARGER for o in others if struck.at_s <= o.sent_s < struck.until_s]
    if not before or not during:
        return False
    share = fmean((*before, *during))
    error = math.sqrt(share * (1 - share) * (1 / len(before) + 1 / len(during)))
    return abs(fmean(before) - fmean(during)) > max(MOVED, STANDARD_ERRORS * error)


def figures_of(results: Results) -> dict[str, float]:
    """All figures; the units are in the names."""
    struck = [one for one in results.struck if not one.retries_errors]
    alone = results.alone
    figures = {
        "fault_to_repaired_ms_mean": fmean(one.repaired_ms for one in struck),
        "fault_to_repaired_ms_max": max(one.repaired_ms for one in struck),
        "other_services_moved": float(sum(one.moved for one in struck)),
        "kills": float(sum(one.fault is Fault.KILL for one in struck)),
        "recover_without_control_plane": float(
            alone.failed == 0 and alone.repaired_ms < REPAIRED_MS
        ),
        **_controlled(results),
    }
    for fault in Fault:
        name = fault.replace("-", "_")
        figures |= _of_kind(name, [one for one in struck if one.fault is fault])
        again = [one for one in results.struck if one.retries_errors and one.fault is fault]
        figures |= _of_kind(f"{name}_retried", again)
    return figures


def _controlled(results: Results) -> dict[str, float]:
    """What the control plane does; what it never did counts as endless."""
    kills = [one.published_ms for one in results.struck if one.fault is Fault.KILL]
    found = {}
    for name, times in (
        ("kill_to_published_ms", kills),
        ("operator_call_to_first_request_ms", results.calls_ms),
    ):
        known = sorted(math.inf if one is None else one for one in times)
        if known:
            found[f"{name}_p50"] = known[len(known) // 2]
            found[f"{name}_p99"] = known[math.ceil(0.99 * len(known)) - 1]
    return found


def _of_kind(name: str, struck: Sequence[Struck]) -> dict[str, float]:
    if not struck:
        return {}
    isolated = [one.isolated_ms for one in struck if one.isolated_ms is not None]
    found = {
        f"{name}_to_repaired_ms_mean": fmean(one.repaired_ms for one in struck),
        f"failed_requests_{name}": float(sum(one.failed for one in struck)),
        f"late_requests_{name}": float(sum(one.late for one in struck)),
        f"{name}_requests": float(sum(one.sent for one in struck)),
    }
    return found | ({f"{name}_to_isolated_ms_mean": fmean(isolated)} if isolated else {})


def line(struck: Struck) -> str:
    """One fault in a line."""
    times = (struck.repaired_ms, struck.isolated_ms, struck.published_ms)
    words = ("-" if one is None else f"{one:.0f}" for one in times)
    return (
        f"{struck.centers} centres, {struck.scope:<8}{struck.fault:<14}"
        "repaired {:>5} ms, isolated {:>5} ms, published {:>5} ms".format(*words)
        + f", failed {struck.failed:>3}, late {struck.late:>3} of {struck.sent}"
        + (", errors are retried" if struck.retries_errors else "")
    )


def show(figures: dict[str, float]) -> None:
    """Print the table."""
    for name, value in figures.items():
        print(f"  {name:<44}{value:>12.1f}")
