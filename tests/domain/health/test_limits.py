"""One tree of limits is what every part reads."""

from controlplane.domain.health.budget import ProbeBudget
from controlplane.domain.health.limits import HealthLimits
from controlplane.domain.health.passive import PassiveLimits
from controlplane.domain.health.quorum import QuorumRules


def test_the_defaults_are_those_of_the_parts() -> None:
    limits = HealthLimits()
    assert (limits.quorum, limits.budget, limits.passive) == (
        QuorumRules(),
        ProbeBudget(),
        PassiveLimits(),
    )


def test_each_limit_reaches_its_part() -> None:
    limits = HealthLimits(silent_s=1.0, probes_per_s=7.0, least_reporters=1, window_s=2.0)
    assert limits.quorum.silent_s == 1.0
    assert limits.budget.per_prober == 7.0
    assert (limits.passive.least_reporters, limits.passive.window_s) == (1, 2.0)
