"""What a node counts of its sales, for Prometheus: read when it is asked for, never before."""

from collections.abc import Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from controlplane.domain.admission.flash_sale.life import Phase
from gateway.admission.flash_sale.counter import SaleCounter


class SaleMetrics(Collector):
    """All sales of one node.

    Args:
        counters: by name; the mapping of the host, which changes.
    """

    def __init__(self, counters: Mapping[str, SaleCounter]) -> None:
        self._counters = counters

    def collect(self) -> Iterator[Metric]:
        """The families of this moment."""
        answers = CounterMetricFamily(
            "signalbox_sale_answers",
            "Requests by the layer that answered them.",
            labels=("sale", "layer", "outcome"),
        )
        batches = CounterMetricFamily(
            "signalbox_sale_batches", "Batches of orders.", labels=("sale", "outcome")
        )
        for name, counter in self._counters.items():
            funnel = counter.funnel
            for (layer, outcome), count in funnel.answered.items():
                answers.add_metric((name, layer.value, outcome), count)
            batches.add_metric((name, "ok"), funnel.batches)
            batches.add_metric((name, "error"), funnel.failed_batches)
        yield answers
        yield batches
        yield from self._gauges()

    def _gauges(self) -> Iterator[Metric]:
        waiting = GaugeMetricFamily(
            "signalbox_sale_waiting_orders", "Orders that no shop has answered.", labels=("sale",)
        )
        phases = GaugeMetricFamily(
            "signalbox_sale_phase", "1 for the phase that a sale is in.", labels=("sale", "phase")
        )
        for name, counter in self._counters.items():
            waiting.add_metric((name,), counter.writer.waiting)
            at = counter.phase()
            for each in Phase:
                phases.add_metric((name, each.value), float(each is at))
        yield waiting
        yield phases
