"""An intake without an engine: samples in, doubts out, the trusted window kept."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from controlplane.domain.services import Service
from controlplane.domain.suspicion.doubt import Suspicion
from controlplane.domain.suspicion.limits import SuspicionLimits
from controlplane.domain.suspicion.metrics import judge
from controlplane.domain.suspicion.past import InForce, Past
from controlplane.domain.telemetry import Sample, ServiceWindow, extended, without
from tests.domain.two_centers import NAMES, NOW_S, PERIOD_S, Load, make_service, observe

LIMITS = SuspicionLimits()
WINDOW_S = 3_600.0


@dataclass(slots=True)
class Feed:
    """One service's metrics on their way."""

    service: Service = field(default_factory=make_service)
    shares: Mapping[str, float] = field(default_factory=lambda: {"alpha": 0.5, "beta": 0.5})
    limits: SuspicionLimits = LIMITS
    period_s: float = PERIOD_S
    window_s: float = WINDOW_S
    moved_s: float = 0.0
    earlier: tuple[InForce, ...] = ()
    window: ServiceWindow = field(default_factory=lambda: ServiceWindow(service="tickets"))
    newest: dict[str, Sample] = field(default_factory=dict)

    @property
    def past(self) -> Past:
        return Past(
            service=self.service,
            trusted=self.window.samples,
            newest=self.newest,
            shares=self.shares,
            moved_s=self.moved_s,
            earlier=self.earlier,
            period_s=self.period_s,
            window_s=self.window_s,
        )

    def take(self, sample: Sample) -> tuple[Suspicion, ...]:
        """What the engine does with one sample."""
        doubts = judge(sample, self.past, self.limits)
        if doubts:
            sample = replace(sample, suspicion=doubts[0].doubt)
            self.window = without(self.window, doubts[0].also)
        else:
            self.window = extended(self.window, [sample], self.window_s)
        self.newest[sample.datacenter] = sample
        return doubts

    def take_all(self, samples: Iterable[Sample]) -> list[Suspicion]:
        return [doubt for sample in samples for doubt in self.take(sample)]

    def run(self, periods: range, change: Callable[[Sample], Sample] = lambda s: s) -> list[str]:
        """Honest samples of these periods, changed on the way; the codes of all doubts."""
        codes = []
        for period in periods:
            for sample in wobbling(period, tuple(self.shares.values()) or (0.5, 0.5)):
                codes += [doubt.doubt.value for doubt in self.take(change(sample))]
        return codes


def wobbling(period: int, shares: tuple[float, ...] = (0.5, 0.5)) -> list[Sample]:
    """Both centres in one period; no two periods are equal."""
    total_rps = 80.0 + 8.0 * ((period * 7) % 5 - 2) / 2
    alpha, beta = observe(Load(total_rps=total_rps), shares, NOW_S + period * PERIOD_S)
    return [alpha, replace(beta, memory=0.6)]


def exchanged(sample: Sample) -> Sample:
    """The same readings under the other centre's name."""
    alpha, beta = NAMES[:2]
    return replace(sample, datacenter=beta if sample.datacenter == alpha else alpha)
