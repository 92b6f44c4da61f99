"""The part of /metrics about metric sources; `exposition` calls it at each scrape.

Label values are the names of declared sources, of which there are few.
"""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from controlplane.engine.samples.pull import Puller, PullOutcome, silent_s


def source_families(puller: Puller, now_s: float) -> Iterator[Metric]:
    """Rounds, time, samples and silence of each declared source."""
    rounds = CounterMetricFamily(
        "signalbox_source_rounds",
        "Rounds of questions to a metric source by outcome.",
        labels=("source", "outcome"),
    )
    seconds = CounterMetricFamily(
        "signalbox_source_duration_seconds",
        "Time until all answers of a round were taken.",
        labels=("source",),
    )
    samples = CounterMetricFamily(
        "signalbox_source_samples", "Samples taken from a metric source.", labels=("source",)
    )
    silent = GaugeMetricFamily(
        "signalbox_source_silent_seconds",
        "Time since a metric source last gave a sample, or since it was declared.",
        labels=("source",),
    )
    for name, pull in sorted(puller.pulls.items()):
        for outcome in PullOutcome:
            if outcome is not PullOutcome.WAITING:
                rounds.add_metric((name, outcome.value), pull.rounds[outcome])
        seconds.add_metric((name,), pull.seconds)
        samples.add_metric((name,), pull.taken)
        silent.add_metric((name,), silent_s(pull, now_s))
    yield from (rounds, seconds, samples, silent)
