"""The worked example of docs/prometheus.md, and real troubles, against a real Prometheus."""

import asyncio
import math
import re
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from controlplane.adapters.prometheus import Prometheus, PrometheusOptions
from controlplane.api.fleet_document.parsing import parse
from controlplane.domain.errors import Invalid, Retryable
from controlplane.domain.pulling.asked import Asked, Pulled
from controlplane.domain.pulling.joining import joined
from controlplane.domain.sources import Answer, DeclaredSource
from controlplane.domain.topology import Fleet
from tests.servers.prometheus import Site, site, until

PAGE = (Path(__file__).parents[2] / "docs" / "prometheus.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"<!-- example: ([\w.]+) -->\n```yaml\n(.*?)```", re.DOTALL)
BLOCKS = dict(EXAMPLE.findall(PAGE))
FLEET = """
datacenters:
  - {name: dc-east, role: primary, region: x}
  - {name: dc-west, role: same-city, region: x}
services:
  - name: tickets
    clusters:
      - {datacenter: dc-east, capacity_rps: 80, endpoints: [{address: 10.0.0.1, port: 80}]}
      - {datacenter: dc-west, capacity_rps: 80, endpoints: [{address: 10.0.0.2, port: 80}]}
"""
# Four scrapes of 15 s in the example, four of 1 s here.
RANGE = "[4s]"
OPTIONS = PrometheusOptions(timeout_s=5.0, most_bytes=1_000_000, most_series=100)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("prometheus"), BLOCKS["prometheus.yml"]) as made:
        yield made


@pytest.fixture
def fleet(running: Site) -> Fleet:
    """The example's fleet: its source is the running one, its ranges span as many scrapes."""
    (declared,) = yaml.safe_load(BLOCKS["fleet"])["metric_sources"]
    assert declared["url"] == "http://prometheus.internal:9090"
    declared["url"] = running.server.url
    queries = {name: query.replace("[1m]", RANGE) for name, query in declared["queries"].items()}
    return parse(FLEET + yaml.safe_dump({"metric_sources": [declared | {"queries": queries}]}))


def pulled(fleet: Fleet, **queries: str) -> Pulled:
    """One round of the example's questions, some of them replaced."""
    (source,) = fleet.metric_sources
    source = replace(source, queries=tuple(sorted((dict(source.queries) | queries).items())))
    time_s = time.time()
    answers = asyncio.run(_answers(source, time_s))
    return joined(Asked(source=source, time_s=time_s, period_s=60.0), answers, (), fleet)


async def _answers(source: DeclaredSource, time_s: float) -> list[Answer]:
    adapter = Prometheus(OPTIONS)
    try:
        readings = [reading for reading, _ in source.queries]
        return await asyncio.gather(*(adapter.read(source, one, time_s) for one in readings))
    finally:
        await adapter.close()


def codes(result: Pulled) -> set[str]:
    return {one.code for one in result.observations}


def complete(fleet: Fleet) -> bool:
    result = pulled(fleet)
    return len(result.samples) == 2 and not result.observations


def test_the_worked_example_gives_true_samples(running: Site, fleet: Fleet) -> None:
    until(lambda: complete(fleet), 20)
    time.sleep(5)
    east, west = pulled(fleet).samples
    assert (east.datacenter, west.datacenter) == ("dc-east", "dc-west")
    for sample, target in ((east, running.east), (west, running.west)):
        assert sample.request_rate_rps == pytest.approx(target.rps, rel=0.15)
        assert sample.response_time_ms == pytest.approx(target.response_ms, rel=0.02)
        assert sample.cpu_avg == sample.cpu_max == target.cpu
        assert abs(sample.time_s - time.time()) < 5


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("sum by (service) (", "parse error"),
        ("cpu_busy_ratio * on() cpu_busy_ratio", "duplicate series"),
    ],
)
def test_what_prometheus_refuses_is_told_in_its_own_words(
    fleet: Fleet, query: str, words: str
) -> None:
    until(lambda: complete(fleet), 20)
    with pytest.raises(Invalid, match=words) as caught:
        pulled(fleet, cpu_avg=query)
    assert caught.value.code == "source_query_refused"


@pytest.mark.parametrize("query", ["1", "cpu_busy_ratio[1m]", '"text"'])
def test_what_is_no_instant_vector_is_unreadable(fleet: Fleet, query: str) -> None:
    with pytest.raises(Invalid, match="instant vector"):
        pulled(fleet, cpu_avg=query)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("cpu_busy_ratio * 0 / 0", "source_value_not_finite"),
        ("cpu_busy_ratio / 0", "source_value_not_finite"),
        ("no_such_metric", "source_empty"),
        ("avg(cpu_busy_ratio)", "source_labels_missing"),
        ('{__name__=~"cpu_busy_ratio|up"}', "source_series_duplicate"),
        ('label_replace(cpu_busy_ratio, "service", "other", "", "")', "source_names_unknown"),
        ('cpu_busy_ratio{datacenter="dc-east"}', "source_series_missing"),
    ],
)
def test_what_prometheus_answers_strangely_costs_its_reading_only(
    fleet: Fleet, query: str, code: str
) -> None:
    until(lambda: complete(fleet), 20)
    result = pulled(fleet, cpu_avg=query)
    assert code in codes(result)
    assert len(result.samples) == 2
    assert {sample.cpu_avg for sample in result.samples} <= {None, 0.5}


def test_old_raw_samples_are_stale_though_evaluated_for_now(fleet: Fleet) -> None:
    until(lambda: complete(fleet), 20)
    result = pulled(fleet, newest_sample="timestamp(cpu_busy_ratio) - 121")
    assert result.samples == ()
    assert codes(result) == {"source_series_stale"}


def test_a_target_that_fails_vanishes_and_comes_back(running: Site, fleet: Fleet) -> None:
    until(lambda: complete(fleet), 20)
    running.west.broken = True
    try:
        until(lambda: [s.cpu_avg for s in pulled(fleet).samples] == [0.5, None], 10)
        assert codes(pulled(fleet)) == {"source_series_missing"}
    finally:
        running.west.broken = False
    until(lambda: complete(fleet), 20)


def test_without_requests_there_is_no_mean(running: Site, fleet: Fleet) -> None:
    until(lambda: complete(fleet), 20)
    running.west.rps = 0.0
    try:
        until(lambda: len(pulled(fleet).samples) == 1, 15)
        result = pulled(fleet)
        assert codes(result) == {"source_value_not_finite"}
        assert math.isfinite(result.samples[0].response_time_ms)
    finally:
        running.west.rps = 40.0


async def test_one_that_takes_connections_and_says_nothing_ends_with_the_deadline(
    running: Site, fleet: Fleet
) -> None:
    (source,) = fleet.metric_sources
    adapter = Prometheus(OPTIONS)
    running.server.send(signal.SIGSTOP)
    try:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await adapter.read(source, "cpu_avg", time.time())
    finally:
        running.server.send(signal.SIGCONT)
    assert (await adapter.read(source, "cpu_avg", time.time())).points
    await adapter.close()


async def test_one_that_is_gone_is_away(running: Site, fleet: Fleet) -> None:
    (source,) = fleet.metric_sources
    adapter = Prometheus(OPTIONS)
    assert (await adapter.read(source, "cpu_avg", time.time())).reading == "cpu_avg"
    await asyncio.to_thread(running.server.kill)
    try:
        with pytest.raises(Retryable) as caught:
            await adapter.read(source, "cpu_avg", time.time())
        assert caught.value.code == "source_away"
    finally:
        await asyncio.to_thread(running.server.start)
        await adapter.close()
