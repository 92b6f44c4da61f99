"""The observers of a control plane: its own probes, and the reports of others.

Owned by `watch`. Who probes what is planned by `domain.health.budget`, so that neither a prober
nor an endpoint gets more than it bears.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from controlplane.domain.errors import Conflict, Refused
from controlplane.domain.health.budget import ProbeBudget, ProbeLoad, ProbePlan, elected, plan
from controlplane.domain.health.checks import FLAPPING, Checked, Verdict
from controlplane.domain.health.judging import endpoint_keys
from controlplane.domain.health.picture import EndpointHealth, EndpointKey, Health
from controlplane.domain.health.quorum import Opinion, QuorumRules, Report, remembered
from controlplane.domain.health.states import EndpointState
from controlplane.domain.services import HealthCheck
from controlplane.domain.topology import Fleet
from controlplane.engine.health.probing import Prober

# The control plane as an observer.
OWN_NAME = "control-plane"
# A majority needs a few; with more somebody makes names up.
MOST_OBSERVERS = 100
IDLE = ProbePlan(observers=0, stretch=1.0)
VERDICTS = {
    EndpointState.HEALTHY: Verdict.HEALTHY,
    EndpointState.UNHEALTHY: Verdict.UNHEALTHY,
}


class Observers:
    """All that say what endpoints look like.

    `plan` says who probes how often, `checks` every endpoint that is declared.

    Args:
        prober: the own one; None probes nothing here.
    """

    def __init__(self, prober: Prober | None, rules: QuorumRules, budget: ProbeBudget) -> None:
        self.prober = prober
        self._rules = rules
        self._budget = budget
        self._others: dict[str, Report] = {}
        self.checks: Mapping[EndpointKey, HealthCheck] = {}
        self._seeds: dict[EndpointKey, Checked] = {}
        self.plan = IDLE

    def restore(self, health: Health) -> None:
        """Take up what was known: the others are asked for their word before anything moves."""
        known = health.endpoints()
        self._seeds = {key: _seed(one) for key, one in known.items() if one.state in VERDICTS}
        unknown = dict.fromkeys(known, Opinion(verdict=Verdict.UNKNOWN))
        for one in health.observers:
            if one.name != OWN_NAME:
                self._others[one.name] = Report(
                    observer=one.name, heard_s=one.heard_s, opinions=unknown, token=one.token
                )

    def admit(self, observer: str, token: str, now_s: float) -> None:
        """See that a token may speak as an observer.

        Raises:
            Conflict: another token speaks as that observer, and is heard.
            Refused: there are too many observers.
        """
        before = self._others.get(observer)
        if before is None and len(self._others) >= MOST_OBSERVERS:
            raise Refused(
                "observers_full",
                f"there are {len(self._others)} observers, at most {MOST_OBSERVERS} may be: let "
                "one leave, or wait until one that is silent is forgotten",
            )
        if before is None or before.token in ("", token):
            return
        if abs(now_s - before.heard_s) < self._rules.silent_s:
            raise Conflict(
                "observer_name_taken",
                f"another token reports as {observer}: give this observer another name with "
                "--name, or stop the other one",
            )

    def observe(self, report: Report) -> set[str]:
        """Take everything that another observer says; the services of which it changed its mind."""
        before = self._others.get(report.observer)
        earlier: Mapping[EndpointKey, Opinion] = {} if before is None else before.opinions
        self._others[report.observer] = report
        keys = report.opinions.keys() | earlier.keys()
        return {key.service for key in keys if report.opinions.get(key) != earlier.get(key)}

    def leave(self, observer: str) -> bool:
        """One that is stopped in order is no observer any more; whether it was one."""
        return self._others.pop(observer, None) is not None

    def reports(self, now_s: float) -> tuple[Report, ...]:
        """Of everyone who is remembered, by name."""
        kept = remembered(tuple(self._others.values()), now_s, self._rules)
        self._others = {one.observer: one for one in kept}
        if self.prober is None:
            return kept
        own = Report(observer=OWN_NAME, heard_s=now_s, opinions=self.prober.opinions())
        return tuple(sorted((*kept, own), key=lambda one: one.observer))

    def watch(self, fleet: Fleet) -> None:
        """Probe the endpoints of a fleet from now on."""
        self.checks = {
            key: service.health_check
            for service in fleet.services
            for key in endpoint_keys(service)
        }
        self.share()
        if self.prober is not None:
            self.prober.watch(self.targets(OWN_NAME), self.plan.stretch, self._seeds)
        self._seeds = {}

    def share(self) -> None:
        """Plan who probes how often."""
        self.plan = plan(self._load(), self._budget)

    @property
    def shared_by(self) -> str:
        """Changes whenever another observer may have to probe something else."""
        names = sorted(self._tokens().items())
        return hashlib.sha256(f"{self.plan} {names}".encode()).hexdigest()[:16]

    def targets(self, observer: str) -> dict[EndpointKey, HealthCheck]:
        """What an observer should probe: everything, or the part that it is elected for.

        Tokens are elected, and one observer of each: many names ask no more than one.
        """
        tokens, count = self._tokens(), self.plan.observers
        # Who has not reported yet is in no plan; its first report changes the plan.
        if count >= len(tokens) or observer not in tokens:
            return dict(self.checks)
        voices, own = set(tokens.values()), tokens[observer]
        beside = [name for name, token in tokens.items() if token == own]
        return {
            key: check
            for key, check in self.checks.items()
            if own in elected(f"{key.service} {key.name}", voices, count)
            and observer in elected(f"{key.service} {key.name}", beside, 1)
        }

    def _tokens(self) -> dict[str, str]:
        """Whose token each observer reports with, by name; its own name without one."""
        own = {} if self.prober is None else {OWN_NAME: OWN_NAME}
        return own | {name: one.token or name for name, one in self._others.items()}

    def _load(self) -> ProbeLoad:
        rates = [1_000 / check.interval_ms for check in self.checks.values()]
        return ProbeLoad(
            total_per_s=sum(rates),
            fastest_per_s=max(rates, default=0.0),
            observers=len(self._tokens()),
        )


def _seed(one: EndpointHealth) -> Checked:
    """What the own observer goes on from after a restart."""
    return replace(
        Checked(verdict=VERDICTS[one.state], words=one.why),
        at_s=one.since_s,
        flaps=FLAPPING if one.flapping else 0.0,
    )
