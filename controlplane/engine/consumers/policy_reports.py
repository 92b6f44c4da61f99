"""What gateways tell about policies: which version they run, and which they cannot enforce.

Called by the API. A policy that a gateway cannot enforce is one finding on both; a gateway that is
not heard for an hour is forgotten with its findings. Must stay bounded.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.domain.findings import Observation, Source
from controlplane.engine.stages import Instruments

MOST_GATEWAYS = 20_000
KEPT_S = 3_600.0
# An agent that waits for new policies shows itself at least every half minute.
PRESENT_S = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyReport:
    """One gateway's word.

    Attributes:
        version: digest of the `admission` section that it runs.
        unreadable: policy -> why it is not enforced there.
        heard_s: UTC epoch seconds.
    """

    gateway: str
    group: str
    version: str
    unreadable: tuple[tuple[str, str], ...] = ()
    heard_s: float = 0.0


class PolicyReports:
    """The newest report of each gateway."""

    def __init__(self, instruments: Instruments) -> None:
        self._now = instruments.now
        self._findings = instruments.findings
        self._reports: OrderedDict[str, PolicyReport] = OrderedDict()
        self._polled: OrderedDict[str, float] = OrderedDict()

    def take(self, report: PolicyReport) -> None:
        """Keep a report in place of the gateway's earlier one."""
        self.polled(report.group)
        self._reports[report.gateway] = report
        self._reports.move_to_end(report.gateway)
        self._findings.report(Source.DATA_PLANE, _observations(report), scope=_scope(report))
        self._forget()

    def polled(self, group: str) -> None:
        """An agent of a gateway group asks for the policies now."""
        self._polled[group] = self._now()
        self._polled.move_to_end(group)
        if len(self._polled) > MOST_GATEWAYS:
            self._polled.popitem(last=False)

    def groups(self) -> frozenset[str]:
        """Gateway groups of which an agent takes the policies."""
        now_s = self._now()
        # Heard in the future is one that was heard before the clock was set back.
        return frozenset(
            group for group, at_s in self._polled.items() if 0 <= now_s - at_s <= PRESENT_S
        )

    def all(self) -> Sequence[PolicyReport]:
        """Who was heard in the last hour, by name."""
        self._forget()
        return [self._reports[name] for name in sorted(self._reports)]

    def _forget(self) -> None:
        """Drop the oldest: those beyond the limits of time and number."""
        while self._reports:
            oldest = next(iter(self._reports.values()))
            if self._now() - oldest.heard_s <= KEPT_S and len(self._reports) <= MOST_GATEWAYS:
                return
            del self._reports[oldest.gateway]
            self._findings.report(Source.DATA_PLANE, (), scope=_scope(oldest))


def _scope(report: PolicyReport) -> str:
    return f"policies/{report.gateway}"


def _observations(report: PolicyReport) -> list[Observation]:
    return [
        Observation(
            code="policy_not_enforced",
            subject=f"policy/{name} gateway/{report.gateway}",
            message=f"gateway {report.gateway} does not enforce policy {name}: {reason}; update "
            "the gateway, or correct the policy",
            held="the policy's requests are not asked about there; its other policies are enforced",
        )
        for name, reason in report.unreadable
    ]
