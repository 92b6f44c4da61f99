"""What probes of one observer say about one endpoint: thresholds, hysteresis, damping.

Called with each result. Results in a row move the verdict, as the service's check declares. An
endpoint that fails now and then is out once and stays out until it is calm: each return of failures
is a flap; flaps fade by half in `HALF_LIFE_INTERVALS`, and every one beyond the first takes
`PASSES_FACTOR` times as many passes in a row to bring it back. So one clean outage ends after the
declared threshold, and a target that fails or passes one probe in three changes its verdict once.
The idea is that of route flap damping (RFC 2439): penalties that decay, suppression until they do.
"""

import math
from dataclasses import dataclass, replace
from enum import StrEnum

from controlplane.domain.services import HealthCheck

# At 250 ms: 30 s.
HALF_LIFE_INTERVALS = 120
# Least results while out, at 250 ms 4 s; with 12 of them chance brought one flapping target in 40
# back before its flaps were seen. Slow checks need not wait for so many. Results and no time:
# where probes are held up, time says nothing.
LEAST_OUT_RESULTS = 16
MOST_LEAST_OUT_S = 10.0
MOST_PASSES = 64
PASSES_FACTOR = 4
# From so many flaps on an endpoint is called flapping.
FLAPPING = 2.5


class Verdict(StrEnum):
    """What one observer takes an endpoint for."""

    UNKNOWN = "unknown"
    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One endpoint in one observer's eyes.

    Attributes:
        passed, failed: results in a row.
        flaps: passes that turned into failures, as they were worth at `at_s`; >= 0.
        at_s: time of the last result; results: since it became unhealthy.
        words: why the last probe failed; "" when it passed.
    """

    verdict: Verdict = Verdict.UNKNOWN
    passed: int = 0
    failed: int = 0
    flaps: float = 0.0
    at_s: float = 0.0
    results: int = 0
    words: str = ""

    @property
    def flapping(self) -> bool:
        """Whether it changes too often to be believed."""
        return self.flaps >= FLAPPING


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of one probe; `words` say why it failed, "" when it passed."""

    passed: bool
    at_s: float
    words: str = ""


NEW = Checked()


def after(checked: Checked, result: Result, check: HealthCheck) -> Checked:
    """The endpoint after one more probe. A first pass is enough for one that was never judged."""
    flaps = _faded(checked, result.at_s, check)
    if result.passed:
        return _after_pass(checked, flaps, result, check)
    return _after_failure(checked, flaps, result, check)


def doubtful(checked: Checked) -> bool:
    """Whether the last result speaks against the verdict, so that the next is wanted sooner."""
    return checked.verdict is Verdict.HEALTHY and checked.failed > 0


def passes_needed(flaps: float, check: HealthCheck) -> int:
    """Passes in a row that bring it back, from the declared threshold up to `MOST_PASSES`."""
    more = max(0, min(round(flaps) - 1, MOST_PASSES))
    raised: int = check.healthy_threshold * PASSES_FACTOR**more
    return max(check.healthy_threshold, min(MOST_PASSES, raised))


def least_results(check: HealthCheck) -> int:
    """Results before it is back at the earliest."""
    return min(LEAST_OUT_RESULTS, round(1_000 * MOST_LEAST_OUT_S / check.interval_ms))


def _faded(checked: Checked, now_s: float, check: HealthCheck) -> float:
    if not checked.flaps:
        return 0.0
    half_life_s = HALF_LIFE_INTERVALS * check.interval_ms / 1_000
    return checked.flaps * math.exp2(-max(0.0, now_s - checked.at_s) / half_life_s)


def _after_pass(checked: Checked, flaps: float, result: Result, check: HealthCheck) -> Checked:
    passed = checked.passed + 1
    calm = passed >= passes_needed(flaps, check)
    late = checked.results + 1 >= least_results(check)
    back = checked.verdict is not Verdict.UNHEALTHY or (calm and late)
    return replace(
        checked,
        verdict=Verdict.HEALTHY if back else Verdict.UNHEALTHY,
        results=checked.results + 1,
        passed=passed,
        failed=0,
        flaps=flaps,
        at_s=result.at_s,
        words="",
    )


def _after_failure(checked: Checked, flaps: float, result: Result, check: HealthCheck) -> Checked:
    failed = checked.failed + 1
    falls = checked.verdict is not Verdict.UNHEALTHY and failed >= check.unhealthy_threshold
    return replace(
        checked,
        verdict=Verdict.UNHEALTHY if falls else checked.verdict,
        passed=0,
        failed=failed,
        flaps=flaps + (1.0 if checked.passed else 0.0),
        at_s=result.at_s,
        results=0 if falls else checked.results + 1,
        words=result.words,
    )
