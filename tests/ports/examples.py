"""Values that the suites store."""

from controlplane.domain.access import AccessRole, AuditEntry, Token
from controlplane.domain.decisions import Decision, Trigger
from controlplane.domain.fleet_snapshot import build
from controlplane.domain.guardrails.state import GuardState, Outcome
from controlplane.domain.services import Cluster, Endpoint, Service
from controlplane.domain.snapshot import Snapshot
from controlplane.domain.strategies.situation import CurvePoint, Note
from controlplane.domain.telemetry import Sample
from controlplane.domain.topology import Datacenter, Fleet, GatewayGroup, Role


def entry(action: str = "fleet.apply", **changes: object) -> AuditEntry:
    values: dict[str, object] = {
        "time_s": 1.7e9,
        "author": "ops",
        "action": action,
        "subject": "fleet",
        "reason": "because",
        "before": "1",
        "after": "2",
    }
    return AuditEntry(**(values | changes))  # type: ignore[arg-type]


def fleet(capacity_rps: float = 100.0) -> Fleet:
    clusters = tuple(
        Cluster(
            datacenter=name,
            capacity_rps=capacity_rps,
            endpoints=(Endpoint(address="127.0.0.1", port=port),),
        )
        for name, port in (("east", 9001), ("west", 9002))
    )
    return Fleet(
        datacenters=(
            Datacenter(name="east", role=Role.PRIMARY, region="r1"),
            Datacenter(name="west", role=Role.SAME_CITY, region="r2"),
        ),
        services=(Service(name="tickets", clusters=clusters),),
        gateways=(GatewayGroup(name="edge"),),
    )


def snapshot(east: float = 0.5) -> Snapshot:
    return build(fleet(), {"tickets": {"east": east, "west": 1 - east}})


def sample(time_s: float, datacenter: str = "east", service: str = "tickets") -> Sample:
    return Sample(
        datacenter=datacenter,
        service=service,
        time_s=time_s,
        received_s=time_s + 1.5,
        response_time_ms=41.5,
        request_rate_rps=120.0,
        cpu_avg=0.5,
    )


def decision(time_s: float, service: str = "tickets") -> Decision:
    return Decision(
        id=f"{service}@{int(time_s * 1000)}",
        time_s=time_s,
        service=service,
        trigger=Trigger.TIMER,
        strategy="hybrid",
        centers=("east", "west"),
        applied=(0.5, 0.5),
        proposed=(0.6, 0.4),
        decided=(0.55, 0.45),
        outcome=Outcome.RAMPED,
        curve=(CurvePoint(ratio=0.5, response_time_ms=40.0),),
        notes=(Note(code="step", message="trimmed to one step"),),
        samples=(sample(time_s - 60),),
        state=GuardState(changes_s=(time_s,), previous=(0.5, 0.5)),
        revision=3,
    )


def token(identity: str = "t1", digest: str = "d" * 64, created_s: float = 1.0) -> Token:
    return Token(
        id=identity,
        name="edge gateways",
        role=AccessRole.GATEWAY,
        digest=digest,
        created_s=created_s,
        expires_s=99.0,
        node="edge-1",
        group="edge",
    )
