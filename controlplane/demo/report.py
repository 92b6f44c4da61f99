"""The report of one run: figures as a flat JSON object and as tables for people."""

from dataclasses import dataclass

from rich.table import Table

from controlplane.demo.acts import Live
from controlplane.demo.commissioning import Commissioned
from controlplane.demo.options import LEARNED_LANE
from controlplane.demo.screen import Screen
from controlplane.demo.traffic import Outage


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that was measured in one run."""

    minutes: float
    seconds_to_live: float
    live: Live
    commissioned: Commissioned
    outage: Outage
    envoy_acks: int
    envoy_nacks: int

    def flat(self) -> dict[str, object]:
        """Names and rounded values, as `--json` writes them."""
        comparison = self.live.comparison
        return {
            "minutes": self.minutes,
            "seconds_to_live": round(self.seconds_to_live, 1),
            "training_rows": self.commissioned.rows,
            "model": self.commissioned.model,
            "equal_split_utilisation": round(self.live.equal_split_utilisation, 4),
            "response_time_change_pct": round(comparison.response_time_change_pct, 2),
            "gain_share_of_best_static": round(comparison.gain_share_of_best_static, 3),
            "vs_capacity_ratio_pct": round(comparison.vs_capacity_ratio_pct, 2),
            "best_static": comparison.best_static,
            "mean_ms": {name: round(ms, 2) for name, ms in comparison.mean_ms.items()},
            "requests_per_lane": comparison.requests_per_lane,
            "failed_requests": comparison.failed,
            "failures": dict(comparison.failures),
            "weight_changes": self.live.weight_changes,
            "envoy_acks": self.envoy_acks,
            "envoy_nacks": self.envoy_nacks,
            "failover_seconds": round(self.outage.last_bad_after_s, 3),
            "failover_failed_requests": self.outage.failed,
            "failover_late_requests": self.outage.late,
            "failover_slowest_s": round(self.outage.slowest_s, 3),
        }


def show(report: Report, screen: Screen) -> None:
    """Print the comparison and the failover."""
    comparison = report.live.comparison
    lanes = Table("lane", "mean ms", "against equal", title="the same arrivals in every lane")
    equal_ms = comparison.mean_ms["equal"]
    for name, mean_ms in sorted(comparison.mean_ms.items(), key=lambda item: item[1]):
        label = f"{name} (learned)" if name == LEARNED_LANE else name
        lanes.add_row(label, f"{mean_ms:.1f}", f"{100 * (mean_ms / equal_ms - 1):+.1f} %")
    facts = Table("figure", "value", title="figures")
    for name, value in report.flat().items():
        if not isinstance(value, dict):
            facts.add_row(name, str(value))
    for reason, count in comparison.failures.items():
        facts.add_row(f"failed by {reason}", str(count))
    screen.show(lanes)
    screen.show(facts)
