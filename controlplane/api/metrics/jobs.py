"""Metric families of training jobs, read at each scrape. `exposition` calls it."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from controlplane.domain.jobs import FINAL, JobState
from controlplane.engine.learning.jobs import Jobs


def job_families(jobs: Jobs) -> Iterator[Metric]:
    """How many wait, run and have ended, and how long they ran."""
    open_now = Counter(job.state for job in jobs.open.values())
    waiting = GaugeMetricFamily(
        "signalbox_jobs_open", "Training jobs that are not over, by state.", labels=("state",)
    )
    for state in (JobState.QUEUED, JobState.RUNNING):
        waiting.add_metric((state.value,), open_now[state])
    yield waiting
    ended = CounterMetricFamily(
        "signalbox_jobs_ended", "Training jobs by how they ended.", labels=("state",)
    )
    for state in sorted(FINAL):
        ended.add_metric((state.value,), jobs.ended[state])
    yield ended
    yield CounterMetricFamily(
        "signalbox_job_duration_seconds", "Time that ended jobs ran.", value=jobs.seconds
    )
