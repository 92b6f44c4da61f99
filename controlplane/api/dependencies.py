"""What the routers are given: the engine, and the caller after the token check.

`wiring` fills `ApiServices`; routers ask for `Services` and for one of the callers below, which
is the only place where REST checks tokens.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from controlplane.api.edge.throttle import Throttle
from controlplane.domain.access import Permission, Principal
from controlplane.domain.decisions import Decision
from controlplane.domain.snapshot import Snapshot
from controlplane.engine.access import Access
from controlplane.engine.consumers.outcomes import Outcomes
from controlplane.engine.consumers.policy_reports import PolicyReports
from controlplane.engine.consumers.seen import Consumers
from controlplane.engine.deciding.replay import Replays
from controlplane.engine.findings import Findings
from controlplane.engine.fleet.fleets import Fleets
from controlplane.engine.health.watch import HealthWatch
from controlplane.engine.intents.intents import Intents
from controlplane.engine.learning.jobs import Jobs
from controlplane.engine.learning.models import Models
from controlplane.engine.learning.reports import Reports
from controlplane.engine.operations.office import Office
from controlplane.engine.publishing.couriers import Courier
from controlplane.engine.publishing.publication import Publication
from controlplane.engine.reconciling.loop import ReconcileLoop
from controlplane.engine.reconciling.records import Records
from controlplane.engine.routes.life import RouteLife
from controlplane.engine.samples.forcing import Forcing
from controlplane.engine.samples.history import History
from controlplane.engine.samples.intake import Intake
from controlplane.engine.samples.pull import Puller
from controlplane.engine.stages import Instruments
from controlplane.engine.store_watch import StoreWatch
from controlplane.ports.outside import Artifact
from controlplane.ports.stores import AuditLog, DecisionStore, SampleStore

# Translates a snapshot for one gateway group into a plane's files.
Rendering = Callable[[Snapshot, str], Artifact]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServices:
    """Everything that a router may call.

    Attributes:
        renderings: by kind of data plane, for those who want to see the files.
        ready: whether a full snapshot is served, over HTTP and to every data plane.
        period_s: length of a sample's period, for data sets.
    """

    access: Access
    publication: Publication
    consumers: Consumers
    health: HealthWatch
    policy_reports: PolicyReports
    intake: Intake
    puller: Puller
    fleets: Fleets
    routes: RouteLife
    loop: ReconcileLoop
    models: Models
    jobs: Jobs
    intents: Intents
    operations: Office
    decisions: DecisionStore
    replays: Replays
    reports: Reports
    samples: SampleStore
    history: History
    audit: AuditLog
    couriers: tuple[Courier, ...]
    instruments: Instruments
    records: Records
    store: StoreWatch
    ready: Callable[[], bool]
    outcomes: Outcomes = field(default_factory=Outcomes)
    renderings: Mapping[str, Rendering] = field(default_factory=dict)
    period_s: float = 60.0

    async def decision(self, decision_id: str) -> Decision:
        """One decision; NotFound. The newest is at hand before, and while, it is not stored."""
        newest = self.loop.decisions.get(decision_id.rpartition("@")[0])
        if newest is not None and newest.id == decision_id:
            return newest
        return await self.decisions.by_id(decision_id)

    @property
    def findings(self) -> Findings:
        """What is wrong now."""
        return self.instruments.findings

    @property
    def forcing(self) -> Forcing:
        """An operator's word against a finding."""
        return Forcing(self.intake, self.audit, self.instruments)


_bearer = HTTPBearer(auto_error=False, description="A token, `sbx_...`")
Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]


def _services(request: Request) -> ApiServices:
    services: ApiServices = request.app.state.services
    return services


def _secret(given: Credentials) -> str | None:
    return None if given is None else given.credentials


Services = Annotated[ApiServices, Depends(_services)]
Secret = Annotated[str | None, Depends(_secret)]


def needs(permission: Permission) -> Callable[..., Awaitable[Principal]]:
    """A dependency that answers who is calling, or refuses."""

    async def caller(request: Request, services: Services, secret: Secret) -> Principal:
        throttle: Throttle = request.app.state.throttle
        client = request.client.host if request.client is not None else ""
        await throttle.before(client, known=services.access.knows(secret))
        with throttle.watching(client, presented=secret is not None):
            return await services.access.check(secret, permission)

    return caller


Viewer = Annotated[Principal, Depends(needs(Permission.READ))]
ConfigReader = Annotated[Principal, Depends(needs(Permission.READ_CONFIG))]
Subscriber = Annotated[Principal, Depends(needs(Permission.SUBSCRIBE))]
SampleSender = Annotated[Principal, Depends(needs(Permission.SEND_SAMPLES))]
AlertSender = Annotated[Principal, Depends(needs(Permission.SEND_ALERTS))]
Operator = Annotated[Principal, Depends(needs(Permission.OPERATE))]
ModelKeeper = Annotated[Principal, Depends(needs(Permission.MANAGE_MODELS))]
Admin = Annotated[Principal, Depends(needs(Permission.ADMINISTER))]
