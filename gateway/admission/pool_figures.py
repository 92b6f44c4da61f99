"""What one agent knows of the pools of its session queues, for Prometheus.

Written by `steering`, read when somebody asks for the metrics. Agents that share a Redis have the
same pool, so its size and who is in it are the same in all of them; what changed its size is
counted by the agent that decided it, so that the sum over agents is how often it happened.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from gateway.state.ports import PoolState


@dataclass(slots=True, kw_only=True)
class PoolFigures:
    """One pool.

    Attributes:
        target_ms: mean response time that its site is kept at.
        size: how many may be inside.
        state: as it was read last; None before the first request of the queue.
        mean_ms: mean response time in the newest period with answers; 0 is none yet.
        rises, falls: decisions of this agent that changed the size.
    """

    target_ms: float = 0.0
    size: int = 0
    state: PoolState | None = None
    mean_ms: float = 0.0
    rises: int = 0
    falls: int = 0

    def resized(self, before: int, size: int) -> None:
        """This agent has decided about the size."""
        self.rises += size > before
        self.falls += size < before


class PoolBook(Collector):
    """The pools of one agent, by policy."""

    def __init__(self) -> None:
        self._figures: dict[str, PoolFigures] = {}

    def open(self, policy: str, target_ms: float) -> PoolFigures:
        """Figures for a queue that is just made; counts go on where the one before it was."""
        before = self._figures.get(policy, PoolFigures())
        made = PoolFigures(target_ms=target_ms, rises=before.rises, falls=before.falls)
        self._figures[policy] = made
        return made

    def close(self, policy: str, figures: PoolFigures) -> None:
        """A queue is gone, unless another one has its name by now."""
        if self._figures.get(policy) is figures:
            del self._figures[policy]

    def collect(self) -> Iterator[Metric]:
        """The families of this moment."""
        target = _gauge("target_seconds", "Mean response time that a session queue aims at.")
        size = _gauge("size", "Sessions that may be inside.")
        inside = _gauge("inside", "Sessions inside.")
        waiting = _gauge("waiting", "Sessions that wait.")
        response = _gauge("response_seconds", "Mean response time of the newest period.")
        resizes = CounterMetricFamily(
            "signalbox_agent_queue_resizes",
            "Changes of the size that this agent decided.",
            labels=("policy", "direction"),
        )
        for policy, one in self._figures.items():
            target.add_metric((policy,), one.target_ms / 1_000)
            resizes.add_metric((policy, "up"), one.rises)
            resizes.add_metric((policy, "down"), one.falls)
            if one.state is not None:
                size.add_metric((policy,), one.size)
                inside.add_metric((policy,), one.state.inside)
                waiting.add_metric((policy,), one.state.waiting)
            if one.mean_ms:
                response.add_metric((policy,), one.mean_ms / 1_000)
        yield from (target, size, inside, waiting, response, resizes)


def _gauge(name: str, words: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"signalbox_agent_queue_{name}", words, labels=("policy",))
