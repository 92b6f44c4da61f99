from dataclasses import replace

import httpx

from controlplane.domain.errors import Retryable
from tests import builders
from tests.api.house import START_S, House
from tests.fakes.metric_sources import MAIN


async def test_sources_show_how_their_last_round_ended(
    house: House, admin: httpx.AsyncClient
) -> None:
    assert (await admin.get("/v1/sources")).json()["items"] == []
    await house.declare(replace(builders.fleet(), metric_sources=(MAIN,)))
    (waiting,) = (await admin.get("/v1/sources")).json()["items"]
    assert (waiting["name"], waiting["kind"], waiting["url"]) == ("main", "fake", MAIN.url)
    assert waiting["readings"] == ["request_rate_rps", "response_time_ms"]
    assert (waiting["outcome"], waiting["asked"], waiting["answered"]) == ("waiting", None, None)
    await house.puller.round(house.puller.pulls["main"], START_S)
    (good,) = (await admin.get("/v1/sources")).json()["items"]
    assert (good["outcome"], good["samples"], good["asked"]) == ("ok", 2, good["answered"])
    house.clock.time_s += 60
    house.source.fail = Retryable("source_away", "no answer")
    await house.puller.round(house.puller.pulls["main"], START_S + 60)
    (bad,) = (await admin.get("/v1/sources")).json()["items"]
    assert (bad["outcome"], bad["samples"], bad["answered"]) == ("failed", 0, good["answered"])
    (finding,) = (await admin.get("/v1/findings?source=metric-source")).json()["items"]
    assert (finding["subject"], finding["code"]) == ("source/main", "source_away")


async def test_sources_are_counted(house: House, admin: httpx.AsyncClient) -> None:
    await house.declare(replace(builders.fleet(), metric_sources=(MAIN,)))
    await house.puller.round(house.puller.pulls["main"], START_S)
    house.clock.time_s += 90
    lines = (await admin.get("/metrics")).text.splitlines()
    for line in (
        'signalbox_source_rounds_total{outcome="ok",source="main"} 1.0',
        'signalbox_source_rounds_total{outcome="failed",source="main"} 0.0',
        'signalbox_source_samples_total{source="main"} 2.0',
        'signalbox_source_silent_seconds{source="main"} 90.0',
    ):
        assert line in lines
