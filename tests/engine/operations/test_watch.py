"""What changed goes into the journal and to the webhooks, once."""

import json
from dataclasses import dataclass, field, replace

import pytest

from controlplane.domain.errors import Retryable
from controlplane.domain.findings import Observation, Source
from controlplane.domain.intents.intent import IntentKind, Target, Wanted
from controlplane.domain.operations.changes import Change, ChangeEvent, Stage, advanced
from controlplane.domain.operations.incidents import Incident
from controlplane.domain.operations.webhooks import Webhook
from controlplane.engine.operations.items import Items, Kind, Written, shown
from controlplane.engine.operations.journal import Journal
from controlplane.engine.operations.watch import Watch, WatchParts, differences
from controlplane.engine.operations.webhooks import Messenger, WebhookParts
from controlplane.engine.publishing.couriers import DeliveryState, DeliveryStatus
from controlplane.ports.outside import PlaneNode
from tests.builders import OPERATOR, fleet, service
from tests.engine.operations.desk import MemoryDesk
from tests.engine.rig import Rig
from tests.fakes.operations import Postbox, memory_operations

ORIGIN = "https://pager.example"
TROUBLE = Observation(code="metrics_stopped", subject="service/tickets", message="nothing comes")


@dataclass(slots=True)
class FakeCourier:
    status: DeliveryStatus = field(default_factory=lambda: DeliveryStatus(plane="envoy"))
    running: list[PlaneNode] = field(default_factory=list)
    away: bool = False

    async def nodes(self) -> list[PlaneNode]:
        if self.away:
            raise Retryable("plane_away", "the plane is away")
        return self.running


@dataclass(slots=True)
class Site:
    rig: Rig = field(default_factory=Rig)
    box: Postbox = field(default_factory=Postbox)
    courier: FakeCourier = field(default_factory=FakeCourier)
    desk: MemoryDesk = field(init=False)
    changes: Items[Change] = field(init=False)
    incidents: Items[Incident] = field(init=False)
    journal: Journal = field(init=False)
    messenger: Messenger = field(init=False)
    watch: Watch = field(init=False)

    def __post_init__(self) -> None:
        instruments = self.rig.instruments
        kept = memory_operations(self.rig.stores.audit, self.rig.stores.outage)

        def items(store: object) -> Items[object]:
            kind: Kind[object] = Kind(
                word="x",
                name_of=lambda one: one.name,
                shown=shown,  # type: ignore[attr-defined]
            )
            return Items(kind, store, instruments)  # type: ignore[arg-type]

        self.desk = MemoryDesk(self.rig.clock)
        self.changes = items(kept.changes)  # type: ignore[assignment]
        self.incidents = items(kept.incidents)  # type: ignore[assignment]
        hooks: Items[Webhook] = items(kept.webhooks)  # type: ignore[assignment]
        self.journal = Journal(kept.journal, instruments)
        self.messenger = Messenger(
            WebhookParts(
                webhooks=hooks,
                deliveries=kept.deliveries,
                carrier=self.box,
                origins=frozenset({ORIGIN}),
            ),
            instruments,
        )
        self.watch = Watch(
            WatchParts(
                intents=self.desk,
                publication=self.rig.publication,
                couriers=(self.courier,),  # type: ignore[arg-type]
                changes=self.changes,
                incidents=self.incidents,
                journal=self.journal,
                messenger=self.messenger,
            ),
            instruments,
        )

    async def told(self) -> list[str]:
        """What is in the journal, as `who: what`."""
        return [f"{one.who}: {one.what}" for one in await self.journal.between(0, 1e12, 99)]

    async def sent(self) -> list[str]:
        await self.messenger.settle()
        return [json.loads(body)["type"] for _, _, body in self.box.sent]


@pytest.fixture
async def site() -> Site:
    made = Site()
    hook = Webhook(name="pager", url=f"{ORIGIN}/hook", secret="")
    await made.messenger.declare(hook, Written(author=OPERATOR))
    return made


async def test_findings_come_and_go(site: Site) -> None:
    site.rig.instruments.findings.report(Source.METRICS, [TROUBLE])
    await site.watch.look()
    await site.watch.look()
    site.rig.instruments.findings.report(Source.METRICS, [])
    await site.watch.look()
    assert await site.told() == [
        "metrics: metrics_stopped appeared: nothing comes",
        "metrics: metrics_stopped cleared: nothing comes",
    ]
    assert await site.sent() == ["finding.appeared", "finding.cleared"]


async def test_intents_changes_and_incidents(site: Site) -> None:
    site.watch.begin()
    wanted = Wanted(kind=IntentKind.DRAIN, target=Target(datacenter="east"), reason="works")
    made = await site.desk.make(wanted)
    await site.watch.look()
    await site.desk.undo(made.id, "anna", "")
    change = Change(
        name="move", title="Move", stages=(Stage(title="a"),), author="anna", created_s=0.0
    )
    await site.changes.keep(change)
    await site.watch.look()
    await site.changes.keep(advanced(change, ChangeEvent.START, 1.0, "now"))
    incident = Incident(name="incident-1", title="bad", author="x", opened_s=1.0, stirred_s=1.0)
    await site.incidents.keep(incident)
    await site.watch.look()
    await site.incidents.keep(replace(incident, closed_s=2.0))
    await site.watch.look()
    await site.watch.look()
    assert await site.told() == [
        "anna: drain is active: works",
        "anna: drain is ended (undone): works",
        "anna: Move: planned at stage -1; ",
        "anna: Move: running at stage 0; now",
    ]
    assert await site.sent() == [
        "intent.changed",
        "intent.changed",
        "change.changed",
        "change.changed",
        "incident.opened",
        "incident.closed",
    ]


async def test_what_stood_at_the_start_is_no_news(site: Site) -> None:
    await site.rig.declare(fleet())
    await site.desk.make(Wanted(kind=IntentKind.FREEZE))
    await site.incidents.keep(
        Incident(name="i", title="t", author="x", opened_s=1.0, stirred_s=1.0, closed_s=2.0)
    )
    site.watch.begin()
    await site.watch.look()
    assert await site.told() == []
    assert await site.sent() == []


async def test_publications_and_their_receipts(site: Site) -> None:
    await site.rig.declare(fleet())
    site.courier.status = DeliveryStatus(plane="envoy", state=DeliveryState.IN_FORCE, revision=1)
    site.courier.running = [
        PlaneNode(name="edge-0", group="edge", connected=True, revision=1),
    ]
    await site.watch.look()
    site.courier.status = replace(
        site.courier.status, state=DeliveryState.REJECTED, message="no such cluster"
    )
    site.courier.away = True
    await site.watch.look()
    told = await site.told()
    assert told[0].startswith("signalbox: published as version ")
    assert "tickets: none -> beijing-1=6154 beijing-2=3846; changed: " in told[0]
    assert told[1:] == [
        "envoy: revision 1 is in-force",
        "edge-0: runs revision 1",
        "envoy: revision 1 is rejected: no such cluster",
    ]
    site.rig.clock.time_s += 60.0
    site.courier.away = False
    site.courier.running = [PlaneNode(name="edge-1", group="edge", connected=True, revision=1)]
    await site.watch.look()
    assert len(await site.told()) == 4


async def test_names_of_gateways_that_are_gone_are_not_kept(site: Site) -> None:
    await site.rig.declare(fleet())
    for number in range(50):
        name = f"edge-{number}"
        site.courier.running = [
            PlaneNode(name=name, group="edge", connected=True, revision=1),
            PlaneNode(name="steady", group="edge", connected=True, revision=1),
        ]
        await site.watch.look()
    assert len(site.watch._nodes["envoy"]) == 2
    told = [one for one in await site.told() if one.startswith("steady")]
    assert told == ["steady: runs revision 1"]


async def test_many_splits_are_cut() -> None:
    rig = Rig()
    await rig.declare(fleet(*(service(f"s{number:02}") for number in range(25))))
    snapshot = rig.publication.current
    assert snapshot is not None
    words = differences(None, snapshot)
    assert len(words) == 22
    assert words[20] == "and 5 other splits"
    assert differences(snapshot, snapshot) == []
