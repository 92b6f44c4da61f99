"""Four data centres as a world without machines: it reads the weights and sends the samples."""

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass, field

import httpx

CENTERS = ("east", "west", "north", "cloud")
ROLES = ("primary", "same-city", "disaster-recovery", "cloud")
CAPACITIES = {"east": 800.0, "west": 500.0, "north": 400.0, "cloud": 300.0}
ACTIVE = CAPACITIES["east"] + CAPACITIES["west"]
# Of each reading, so that none looks frozen.
NOISE = 0.01

Weights = Mapping[str, Mapping[str, float]]


def datacenters() -> list[dict[str, object]]:
    return [
        {"name": name, "role": role, "region": "r"}
        for name, role in zip(CENTERS, ROLES, strict=True)
    ]


def endpoints() -> list[dict[str, object]]:
    return [{"address": "127.0.0.1", "port": 9_000}]


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """The weights of one moment, and the least load that their decisions could have seen."""

    weights: Weights
    factor: float
    batch: Mapping[str, float]


@dataclass(slots=True)
class World:
    """Services with their loads (requests/s at factor 1) and costs on one pool per centre.

    `batch` is the utilisation of each pool by work that is none of the services'.
    """

    api: httpx.AsyncClient
    loads: Mapping[str, float]
    period_s: float
    costs: Mapping[str, float] = field(default_factory=dict)
    factor: float = 0.6
    weights: Weights = field(default_factory=dict)
    history: list[Published] = field(default_factory=list)
    batch: Mapping[str, float] = field(default_factory=lambda: dict.fromkeys(CENTERS, 0.0))
    seen: list[tuple[float, Mapping[str, float]]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    noise: random.Random = field(default_factory=lambda: random.Random(7))

    def now(self) -> dict[str, float]:
        """Utilisation of each pool by the weights in force."""
        return self.utilizations(self.weights, self.factor, self.batch)

    def utilizations(
        self, weights: Weights, factor: float, batch: Mapping[str, float]
    ) -> dict[str, float]:
        """Each centre's pool, by these weights."""
        used = dict.fromkeys(CENTERS, 0.0)
        for service, shares in weights.items():
            for center, share in shares.items():
                cost = self.costs.get(service, 1.0)
                used[center] += share * cost * self.loads[service] * factor
        return {center: used[center] / CAPACITIES[center] + batch[center] for center in CENTERS}

    async def live(self) -> None:
        """Each period: what is published takes effect and is measured; until cancelled."""
        while True:
            began_s = asyncio.get_running_loop().time()
            await self._read()
            await self._send()
            passed_s = asyncio.get_running_loop().time() - began_s
            await asyncio.sleep(max(self.period_s - passed_s, 0.0))

    async def stay(self, factor: float, seconds: float) -> None:
        """Go to a load in small steps, and stay there for a while."""
        steps = 10
        start = self.factor
        for step in range(1, steps + 1):
            self.factor = start + (factor - start) * step / steps
            await asyncio.sleep(self.period_s)
        await asyncio.sleep(seconds)

    async def _read(self) -> None:
        answer = await self.api.get("/v1/weights")
        if not answer.is_success:
            # Before the first snapshot.
            return
        weights = {
            one["service"]: {name: weight / 10_000 for name, weight in one["weights"].items()}
            for one in answer.json()["weights"]
        }
        # Decisions read the mean of four periods; one more is on the way.
        self.seen = [*self.seen[-6:], (self.factor, self.batch)]
        if weights != self.weights:
            self.history.append(self._published(weights))
        self.weights = weights

    def _published(self, weights: Weights) -> Published:
        return Published(
            weights=weights,
            factor=min(factor for factor, _ in self.seen),
            batch={name: min(batch[name] for _, batch in self.seen) for name in CENTERS},
        )

    async def _send(self) -> None:
        busy = self.now()
        samples = [
            self._sample(service, center, share, busy[center])
            for service, shares in self.weights.items()
            for center, share in shares.items()
            if share > 0
        ]
        answer = await self.api.post("/v1/samples", json={"samples": samples})
        if not answer.is_success or answer.json()["findings"]:
            self.failures.append(answer.text[:500])

    def _sample(self, service: str, center: str, share: float, busy: float) -> dict[str, object]:
        def noisy(value: float) -> float:
            return value * (1.0 + NOISE * self.noise.uniform(-1.0, 1.0))

        return {
            "service": service,
            "datacenter": center,
            "request_rate_rps": noisy(self.loads[service] * self.factor * share),
            "response_time_ms": noisy(20.0 + 10.0 * busy / max(1.0 - busy, 0.05)),
            "cpu_avg": min(noisy(busy), 1.0),
        }
