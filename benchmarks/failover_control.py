"""The control plane's part in a failover: when it publishes, and what an operator's call takes.

Used by `benchmarks.failover`.
"""

import asyncio
import contextlib
import time
from collections.abc import Sequence

import httpx

from benchmarks.failover_front import LARGER, until
from benchmarks.failover_load import OpenLoad, Outcome
from benchmarks.failover_site import FailoverSite

CALL_S, POLL_S = 0.75, 0.01
Weights = dict[str, int]


async def weights(api: httpx.AsyncClient) -> Weights:
    """What the larger side has of each service, in basis points."""
    answer = await api.get("/v1/weights")
    return {one["service"]: one["weights"].get(LARGER, 0) for one in answer.json()["weights"]}


async def published(api: httpx.AsyncClient, hit: Sequence[str], until_s: float) -> float | None:
    """When the larger side has no weight any more in what is published; None is not in time."""
    while time.perf_counter() < until_s:
        # It answers late when it has no processor.
        with contextlib.suppress(httpx.TransportError):
            found = await weights(api)
            if all(found[service] == 0 for service in hit):
                return time.perf_counter()
        await asyncio.sleep(POLL_S)
    return None


async def settle(running: FailoverSite, count: int) -> None:
    """Everything well and as declared: what health has asked for is taken back at once."""
    await running.front.well(count)
    await until(lambda: _is_well(running.api))
    while standing := await _standing(running.api):
        for intent in standing:
            await _undo(running.api, intent)
        await asyncio.sleep(5 * POLL_S)


async def operator_call_ms(running: FailoverSite, load: OpenLoad) -> float | None:
    """From an operator's call to the first request from which on nobody goes to the larger side.

    None when it is not so in time.
    """
    load.outcomes.clear()
    began_s = time.perf_counter()
    body = {"kind": "failover", "target": {"datacenter": LARGER}, "reason": "benchmark"}
    answer = await running.api.post("/v1/intents", json=body)
    if not answer.is_success:
        raise RuntimeError(answer.text)
    await asyncio.sleep(began_s + CALL_S - time.perf_counter())
    first_s = _first_elsewhere(load.outcomes, began_s)
    await _undo(running.api, answer.json()["id"])
    load.outcomes.clear()

    async def is_back() -> bool:
        return any(one.center == LARGER for one in load.outcomes)

    await until(is_back)
    return None if first_s is None else (first_s - began_s) * 1_000


def _first_elsewhere(outcomes: Sequence[Outcome], began_s: float) -> float | None:
    last_s = max((o.sent_s for o in outcomes if o.center == LARGER), default=began_s)
    return min((o.sent_s for o in outcomes if o.sent_s > max(last_s, began_s)), default=None)


async def _standing(api: httpx.AsyncClient) -> list[str]:
    answer = await api.get("/v1/intents", params={"standing": "true"})
    return [one["id"] for one in answer.json()["items"]]


async def _undo(api: httpx.AsyncClient, intent: str) -> None:
    # One that ended meanwhile is refused, which is as good.
    await api.post(f"/v1/intents/{intent}:undo", json={"reason": "benchmark", "return_s": 0.0})


async def _is_well(api: httpx.AsyncClient) -> bool:
    """Whether health calls nothing down any more."""
    answer = await api.get("/v1/health")
    return not any(center["down_services"] for center in answer.json()["datacenters"])
