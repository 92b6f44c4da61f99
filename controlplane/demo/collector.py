"""Measures every lane in every data centre, period by period, as a metrics system would.

Called by the demo, which posts the result to the control plane. Request rate, response time and
errors come from Envoy; CPU, memory, disk, bandwidth and requests in flight from the data centre
processes. What could not be read is left out, never reported as zero.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import httpx
import orjson

from controlplane.demo.datacenter import DatacenterStats, LaneCounters
from controlplane.demo.envoy_stats import FLUSH_PATH, FLUSH_S, STATS_PATH, ZoneCounts, parse
from controlplane.demo.layout import HOST, Layout

READ_TIMEOUT_S = 0.5
BITS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneSample:
    """One lane in one data centre over the period that ended at `time_s` (UTC epoch seconds).

    Shares are 0..1; `cpu_max` is the busiest quarter second; bandwidth is in bits per second.
    `response_time_ms` is None when no request ended.
    """

    lane: str
    datacenter: str
    time_s: float
    period_s: float
    request_rate_rps: float
    response_time_ms: float | None
    response_time_p99_ms: float | None
    error_ratio: float
    inflight: int
    cpu_avg: float
    cpu_max: float
    memory: float
    disk: float
    ingress_bandwidth_bps: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """All counters at one instant; a data centre that did not answer is missing."""

    time_s: float
    envoy: Mapping[tuple[str, str], ZoneCounts]
    sites: Mapping[str, DatacenterStats]


class Collector:
    """Reads the counters; each `collect` tells what happened since the one before."""

    def __init__(self, layout: Layout, clusters: Mapping[str, str] | None = None) -> None:
        """`clusters` maps Envoy's cluster names to lanes; without it they have the same names."""
        self._layout = layout
        self._clusters = clusters or {lane.name: lane.name for lane in layout.lanes}
        self._http = httpx.AsyncClient(timeout=READ_TIMEOUT_S)
        self._last: Reading | None = None

    async def collect(self) -> list[LaneSample]:
        """Read everything; nothing the first time, and nothing of a part that does not answer."""
        reading = await self._read()
        last, self._last = self._last, reading
        return [] if last is None else samples(last, reading)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _read(self) -> Reading:
        names = [x.name for x in self._layout.datacenters]
        envoy_url = f"http://{HOST}:{self._layout.envoy_admin_port}"
        await self._get(envoy_url + FLUSH_PATH)
        await asyncio.sleep(FLUSH_S)
        urls = [envoy_url + STATS_PATH]
        urls += [f"http://{HOST}:{self._layout.admin_port(name)}/stats" for name in names]
        envoy, *sites = await asyncio.gather(*(self._get(url) for url in urls))
        counted = {} if envoy is None else parse(envoy)
        return Reading(
            time_s=time.time(),
            envoy={
                (self._clusters[cluster], zone): counts
                for (cluster, zone), counts in counted.items()
                if cluster in self._clusters
            },
            sites={name: _site(body) for name, body in zip(names, sites, strict=True) if body},
        )

    async def _get(self, url: str) -> bytes | None:
        try:
            answer = await self._http.get(url)
        except httpx.HTTPError:
            return None
        return answer.content if answer.is_success else None


def samples(older: Reading, newer: Reading) -> list[LaneSample]:
    """What happened between two readings, for every lane and data centre that both know."""
    found: list[LaneSample] = []
    for name, site in newer.sites.items():
        before = older.sites.get(name)
        if before is None or site.at_s <= before.at_s:
            continue
        for lane, counters in site.lanes.items():
            key = (lane, name)
            if key in newer.envoy:
                counts = newer.envoy[key].since(older.envoy.get(key, ZoneCounts()))
                found.append(
                    _sample(
                        key, (before, site), (before.lanes[lane], counters), (newer.time_s, counts)
                    )
                )
    return found


def _sample(
    key: tuple[str, str],
    sites: tuple[DatacenterStats, DatacenterStats],
    lanes: tuple[LaneCounters, LaneCounters],
    seen: tuple[float, ZoneCounts],
) -> LaneSample:
    period_s = sites[1].at_s - sites[0].at_s
    before, now = lanes
    time_s, counts = seen
    cpu_avg = (now.busy_worker_s - before.busy_worker_s) / (period_s * now.workers)
    return LaneSample(
        lane=key[0],
        datacenter=key[1],
        time_s=time_s,
        period_s=period_s,
        request_rate_rps=counts.completed / period_s,
        response_time_ms=counts.mean_ms(),
        response_time_p99_ms=counts.quantile_ms(0.99),
        error_ratio=counts.errors / counts.completed if counts.completed else 0.0,
        inflight=now.inflight,
        cpu_avg=min(1.0, cpu_avg),
        cpu_max=max(_new_slices(before, now), default=min(1.0, cpu_avg)),
        memory=sites[1].memory,
        disk=sites[1].disk,
        ingress_bandwidth_bps=(now.ingress_bytes - before.ingress_bytes) * BITS / period_s,
    )


def _new_slices(before: LaneCounters, now: LaneCounters) -> Sequence[float]:
    added = min(now.slice_count - before.slice_count, len(now.slices))
    return now.slices[len(now.slices) - added :]


def _site(body: bytes) -> DatacenterStats:
    raw = orjson.loads(body)
    lanes = {name: LaneCounters(**counters) for name, counters in raw.pop("lanes").items()}
    return DatacenterStats(**raw, lanes=lanes)
