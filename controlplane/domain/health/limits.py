"""The limits of health as an operator sets them, and what each part of it reads of them."""

from dataclasses import dataclass, replace

from controlplane.domain.health.budget import ProbeBudget
from controlplane.domain.health.passive import PassiveLimits
from controlplane.domain.health.quorum import QuorumRules


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthLimits:
    """From where on facts count. Times are in seconds and never scaled: what fails is real.

    Attributes:
        probes_per_s: of one prober; > 0. probes_per_endpoint_per_s: of all of them; > 0.
        silent_s, forget_s: as in `QuorumRules`.
        window_s, least_requests, failing_ratio, least_reporters: as in `PassiveLimits`.
    """

    probes_per_s: float = 500.0
    probes_per_endpoint_per_s: float = 20.0
    silent_s: float = 3.0
    forget_s: float = 600.0
    window_s: float = 15.0
    least_requests: int = 20
    failing_ratio: float = 0.5
    least_reporters: int = 2

    @property
    def quorum(self) -> QuorumRules:
        """When an observer's silence counts."""
        return QuorumRules(silent_s=self.silent_s, forget_s=self.forget_s)

    @property
    def budget(self) -> ProbeBudget:
        """Probes that are allowed."""
        return ProbeBudget(
            per_prober=self.probes_per_s, per_endpoint=self.probes_per_endpoint_per_s
        )

    @property
    def passive(self) -> PassiveLimits:
        """From where on failing requests count."""
        return replace(
            PassiveLimits(),
            window_s=self.window_s,
            least_requests=self.least_requests,
            failing_ratio=self.failing_ratio,
            least_reporters=self.least_reporters,
        )
