"""The demo's way to the control plane: the public API, nothing else."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import httpx

from controlplane.api.fleet_document.rendering import document
from controlplane.domain.access import AccessRole
from controlplane.domain.topology import Fleet
from controlplane.domain.units import BASIS_POINTS

TIMEOUT_S = 10.0


class ControlFailed(RuntimeError):
    """The control plane answered with a problem; the message is its own."""


class Control:
    """A client with one token."""

    def __init__(self, url: str, token: str) -> None:
        self.url = url
        self.token = token
        self._http = httpx.AsyncClient(
            base_url=url, timeout=TIMEOUT_S, headers={"Authorization": f"Bearer {token}"}
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._http.aclose()

    async def issue_token(
        self, name: str, role: AccessRole, node: str | None = None, group: str | None = None
    ) -> str:
        """A new token's secret."""
        answer = await self._call(
            "POST",
            "/v1/tokens",
            json={"name": name, "role": role, "node": node, "group": group, "reason": "demo"},
        )
        return str(answer.json()["secret"])

    async def apply(self, fleet: Fleet, reason: str) -> None:
        """Put a fleet in force."""
        await self._call("PUT", "/v1/fleet", json=document(fleet), params={"reason": reason})

    async def shares(self, center: str) -> dict[str, float]:
        """Service -> published share of one data centre, 0..1."""
        answer = await self._call("GET", "/v1/weights")
        return {
            each["service"]: each["weights"].get(center, 0) / BASIS_POINTS
            for each in answer.json()["weights"]
        }

    async def send_samples(self, samples: Sequence[Mapping[str, object]]) -> None:
        """Post measured samples."""
        await self._call("POST", "/v1/samples", json={"samples": list(samples)})

    async def dataset(self, service: str) -> bytes:
        """The training rows of a service, CSV."""
        answer = await self._call("GET", f"/v1/services/{service}/dataset")
        return answer.content

    async def add_model(self, packed: bytes) -> str:
        """Register a model and return its digest."""
        answer = await self._call(
            "POST",
            "/v1/models",
            content=packed,
            headers={"Content-Type": "application/octet-stream"},
        )
        return str(answer.json()["digest"])

    async def promote(self, service: str, digest: str) -> None:
        """Make a model the champion of its service.

        By force: a sweep of a minute is little for an examination, and the demo has no other rows.
        """
        body = {"service": service, "reason": "commissioned by the demo", "force": True}
        await self._call("POST", f"/v1/models/{digest}:promote", json=body)

    async def gateways(self) -> list[dict[str, Any]]:
        """Who runs what."""
        answer = await self._call("GET", "/v1/gateways")
        items: list[dict[str, Any]] = answer.json()["items"]
        return items

    async def decisions(self, service: str, limit: int) -> list[dict[str, Any]]:
        """Newest decisions first."""
        answer = await self._call(
            "GET", "/v1/decisions", params={"service": service, "limit": limit}
        )
        items: list[dict[str, Any]] = answer.json()["items"]
        return items

    async def _call(self, method: str, path: str, **request: Any) -> httpx.Response:
        try:
            answer = await self._http.request(method, path, **request)
        except httpx.HTTPError as error:
            raise ControlFailed(f"{method} {path}: {error!r}") from error
        if answer.is_error:
            raise ControlFailed(f"{method} {path}: {answer.status_code} {answer.text[:500]}")
        return answer
