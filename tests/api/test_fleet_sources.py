"""The metric sources of a fleet document."""

from dataclasses import replace

import pytest

from controlplane.api.fleet_document.parsing import parse
from controlplane.api.fleet_document.rendering import render
from controlplane.domain import canonical
from controlplane.domain.errors import Invalid, Refused
from controlplane.domain.fleet_order import normalized
from controlplane.domain.fleet_snapshot import build
from controlplane.domain.sources import DeclaredSource
from controlplane.domain.topology import Fleet
from controlplane.engine.fleet.fleets import Fleets
from controlplane.engine.pokes import Pokes
from controlplane.engine.stages import Instruments
from tests import builders
from tests.fakes.stores import MemoryFleetStore

CENTERS = "datacenters: [{name: a, role: primary, region: x}]\n"
TEXT = (
    CENTERS
    + """metric_sources:
  - name: main
    url: https://prometheus.internal:9090/tenant/
    period_s: 30
    datacenter_label: zone
    credential: reader
    queries:
      response_time_ms: 'avg by (service, zone) (latency)'
      request_rate_rps: |
        sum by (service, zone)
          (rate(requests_total[1m]))
      newest_sample: 'max by (service, zone) (timestamp(latency))'
"""
)


def paths(text: str) -> list[str]:
    with pytest.raises(Invalid) as caught:
        parse(text)
    errors = caught.value.details["errors"]
    assert isinstance(errors, list)
    return [str(error["path"]) for error in errors]


def with_source(**entries: str) -> str:
    known = {
        "name": "main",
        "url": "http://p:9090",
        "queries": "{response_time_ms: x, request_rate_rps: y}",
    }
    lines = [f"{key}: {value}" for key, value in (known | entries).items() if value]
    return f"{CENTERS}metric_sources:\n  - " + "\n    ".join(lines) + "\n"


def test_a_source_reads_and_writes_back() -> None:
    fleet = parse(TEXT)
    (source,) = fleet.metric_sources
    assert source.url == "https://prometheus.internal:9090/tenant"
    assert [reading for reading, _ in source.queries] == [
        "newest_sample",
        "request_rate_rps",
        "response_time_ms",
    ]
    assert (source.period_s, source.service_label) == (30.0, "service")
    assert (source.datacenter_label, source.credential) == ("zone", "reader")
    assert parse(render(fleet)) == fleet
    assert canonical.decode(Fleet, canonical.encode(fleet)) == fleet


def test_a_fleet_stored_without_sources_still_reads() -> None:
    assert canonical.decode(Fleet, b'{"datacenters":[]}').metric_sources == ()


@pytest.mark.parametrize(
    ("entries", "path"),
    [
        ({"name": ""}, "name"),
        ({"url": "ftp://p"}, "url"),
        ({"url": "p:9090"}, "url"),
        ({"url": "http://"}, "url"),
        ({"url": "http://user:secret@p:9090"}, "url"),
        ({"url": "http://p:9090?x=1"}, "url"),
        ({"url": "http://p:99999"}, "url"),
        ({"url": "'http://[::1'"}, "url"),
        ({"url": "'http://p/ü'"}, "url"),
        ({"period_s": "0"}, "period_s"),
        ({"period_s": ".nan"}, "period_s"),
        ({"service_label": "9x"}, "service_label"),
        ({"service_label": "zone", "datacenter_label": "zone"}, "service_label"),
        ({"queries": "{request_rate_rps: y}"}, "queries"),
        ({"queries": "{response_time_ms: y}"}, "queries"),
        ({"queries": "{response_time_ms: '', request_rate_rps: y}"}, "queries.response_time_ms"),
        ({"queries": "{response_time_ms: x, request_rate_rps: y, rps: z}"}, "queries.rps"),
        ({"password": "x"}, "password"),
    ],
)
def test_a_wrong_source_is_one_error_with_its_place(entries: dict[str, str], path: str) -> None:
    assert paths(with_source(**entries)) == [f"metric_sources[0].{path}"]


def test_a_secret_in_an_address_is_not_quoted() -> None:
    with pytest.raises(Invalid) as caught:
        parse(with_source(url="http://user:secret@p:9090"))
    assert "secret" not in str(caught.value.details) + caught.value.message


def test_names_of_sources_are_unique() -> None:
    twice = with_source() + "  - {name: main, url: 'http://q', queries: {}}\n"
    assert "metric_sources[1].name" in paths(twice)


async def test_sources_are_planned_audited_and_guarded_like_the_rest() -> None:
    fleets = Fleets(MemoryFleetStore(), Pokes(), Instruments())
    sources = tuple(
        DeclaredSource(name=name, url="http://p", queries=(("response_time_ms", "x"),))
        for name in ("b", "a", "c")
    )
    fleet = replace(builders.fleet(), metric_sources=sources)
    change = await fleets.apply(fleet, builders.OPERATOR)
    assert {"source/a", "source/b", "source/c"} <= {line.subject for line in change.lines}
    assert [source.name for source in fleets.current.fleet.metric_sources] == ["a", "b", "c"]
    with pytest.raises(Refused, match="metric sources"):
        await fleets.apply(builders.fleet(), builders.OPERATOR)


def test_who_is_asked_changes_nothing_that_is_published() -> None:
    source = DeclaredSource(name="a", url="http://p", queries=())
    plain, asking = builders.fleet(), replace(builders.fleet(), metric_sources=(source,))
    shares = {"tickets": {"beijing-1": 0.5, "beijing-2": 0.5}}
    assert build(normalized(asking), shares).version == build(plain, shares).version
