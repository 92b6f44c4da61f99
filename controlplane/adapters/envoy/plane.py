"""Envoy as a data plane of the engine: render, apply, observe, repair.

Made by `wiring`, driven by the engine's courier. `apply` returns when the configuration is in
force here; the streams take it from there, and `observe` tells who acknowledged it. What the
local Envoy refuses before a push, or a real one after it, is left out item by item.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import structlog

from controlplane.adapters.envoy.ads import AdsOptions, AdsServer, Authorize
from controlplane.adapters.envoy.clearance import Clearance, ClearanceOptions
from controlplane.adapters.envoy.load_reports import Load
from controlplane.adapters.envoy.render import Renderer
from controlplane.adapters.envoy.resource_sets import View, shared_name, views
from controlplane.adapters.envoy.retirement import Part, retiring
from controlplane.domain.errors import Rejected
from controlplane.domain.findings import Observation
from controlplane.domain.snapshot import Snapshot
from controlplane.domain.xds import ResourceType
from controlplane.ports.outside import Artifact, PlaneNode

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaneOptions:
    """Settings of the plane.

    Attributes:
        refusal_settles_s: a refusal that stands for so long is a finding on the group.
        retire_after_s: how long a removed cluster is still served, so that routes leave it first.
    """

    ads: AdsOptions = field(default_factory=AdsOptions)
    clearance: ClearanceOptions = field(default_factory=ClearanceOptions)
    retire_after_s: float = 2.0
    refusal_settles_s: float = 1.5


class EnvoyPlane:
    """Implements `ports.DataPlane`."""

    def __init__(
        self, options: PlaneOptions, authorize: Authorize, now: Callable[[], float]
    ) -> None:
        self._clearance = Clearance(options.clearance)
        self._settles_s = options.refusal_settles_s
        self._retire_after_s = options.retire_after_s
        self._renderer = Renderer()
        self._server = AdsServer(options.ads, authorize, now, self._proven)
        self._one_at_a_time = asyncio.Lock()
        self._in_force: Artifact | None = None
        self._cleared: Artifact | None = None
        self._served: tuple[Part, ...] = ()
        self._retirement: asyncio.TimerHandle | None = None
        self._views: Mapping[str, View] = {}

    @property
    def name(self) -> str:
        """Short name in status, metrics and logs."""
        return "envoy"

    @property
    def pushes(self) -> int:
        """Responses sent since the start."""
        return self._server.pushes

    @property
    def acks(self) -> int:
        """Responses acknowledged since the start."""
        return self._server.acks

    @property
    def revision(self) -> int:
        """What Envoys are served; 0 is nothing yet."""
        return 0 if self._in_force is None else self._in_force.revision

    @property
    def serving(self) -> bool:
        """Whether Envoys that ask now are given something."""
        return self._in_force is not None

    def tell_loads(self, told: Callable[[Load], None]) -> None:
        """Hand on what Envoys tell of their requests."""
        self._server.loads.told = told

    async def start(self) -> int:
        """Open the ADS port and return it; `apply` the last snapshot before."""
        return await self._server.start()

    async def stop(self, grace_s: float = 0.0) -> None:
        """Close the port and the streams; Envoys keep what they have."""
        self._cancel_retirement()
        await self._server.stop(grace_s)

    def render(self, snapshot: Snapshot) -> Artifact:
        """Compile a snapshot; notes name what was left out."""
        return self._renderer.render(snapshot)

    async def apply(self, artifact: Artifact) -> None:
        """Serve an artifact.

        Raises:
            Rejected: it is older than the one in force, or the preflight refuses it and no item
                of it can be blamed.
            Retryable: the preflight gave no answer in time.
        """
        async with self._one_at_a_time:
            self._fence(artifact)
            if self._clearance.asks(artifact):
                self._weights_first(artifact)
            self._serve(await self._clearance.clear(artifact))
            self._in_force = artifact

    async def observe(self) -> list[PlaneNode]:
        """Who runs what, by name."""
        return self._server.nodes()

    async def repair(self) -> tuple[Observation, ...]:
        """Leave out what Envoys have refused since the last time; what is not in force and why.

        Raises:
            Rejected, Retryable: as `apply`.
        """
        async with self._one_at_a_time:
            artifact, cleared = self._in_force, self._cleared
            if artifact is None or cleared is None:
                return ()
            refusals = self._server.refusals()
            excluded = refusals and await self._clearance.refused(artifact, refusals)
            if excluded or self._clearance.unfinished:
                cleared = await self._clearance.clear(artifact)
                self._serve(cleared)
            refusing = self._server.standing_refusals(self._settles_s)
            standing = self._clearance.standing(artifact, refusing)
            return (*cleared.notes, *self._clearance.observations(artifact), *standing)

    def _proven(self, group: str, kind: ResourceType) -> None:
        if self._cleared is not None:
            self._clearance.acked(self._cleared, group, kind)

    def _weights_first(self, artifact: Artifact) -> None:
        """Weights wait for no check: they go to the services that are served as they are now."""
        served = self._cleared
        if served is None:
            return
        now = frozenset(served.snapshot.content.endpoints.services)
        same = (s for s in artifact.snapshot.content.endpoints.services if s in now)
        names = {f"{ResourceType.ENDPOINT}/{service.service}" for service in same}
        new = {name: data for name, data in artifact.parts if shared_name(name) in names}
        parts = tuple((name, new.get(name, data)) for name, data in self._served)
        if parts != self._served:
            # It would bring the old ones back.
            self._cancel_retirement()
            self._publish(parts, served)

    def _serve(self, artifact: Artifact) -> None:
        self._cleared = artifact
        self._cancel_retirement()
        leaving = retiring(self._served, artifact.parts)
        self._publish((*artifact.parts, *leaving), artifact)
        if leaving:
            loop = asyncio.get_running_loop()
            self._retirement = loop.call_later(
                self._retire_after_s, self._publish, artifact.parts, artifact
            )

    def _publish(self, parts: tuple[Part, ...], artifact: Artifact) -> None:
        """Serve these parts, to the groups and at the revision of the artifact."""
        self._served = parts
        groups = artifact.snapshot.content.routes.gateways
        regions = {group.name: group.region for group in groups if group.region}
        self._views = views(parts, self._views, regions)
        self._server.publish(self._views, artifact.revision)

    def _cancel_retirement(self) -> None:
        if self._retirement is not None:
            self._retirement.cancel()
            self._retirement = None

    def _fence(self, artifact: Artifact) -> None:
        newest = self._in_force
        if newest is None or artifact.revision > newest.revision:
            return
        if (artifact.revision, artifact.version) == (newest.revision, newest.version):
            return
        raise Rejected(
            "revision_not_newer",
            f"revision {artifact.revision} ({artifact.version[:12]}) is not newer than revision "
            f"{newest.revision} ({newest.version[:12]}), which Envoys are served; "
            "another writer was faster, build on the newest snapshot",
            {"offered": artifact.revision, "in_force": newest.revision},
        )
