"""Incidents open and close by what is wrong; their timeline says who did what."""

from dataclasses import dataclass, field

import pytest

from controlplane.domain.access import AuditEntry
from controlplane.domain.errors import Conflict
from controlplane.domain.findings import Observation, Severity, Source
from controlplane.domain.operations.incidents import QUIET_S, Incident
from controlplane.domain.operations.timeline import EntryKind
from controlplane.engine.operations import incidents, journal
from controlplane.engine.operations.incidents import IncidentParts, Incidents
from controlplane.engine.operations.items import Items, Kind, shown
from controlplane.engine.operations.journal import Journal
from controlplane.ports.operations import OperationStores
from tests.builders import OPERATOR, fleet
from tests.engine.operations.desk import MemoryDesk
from tests.engine.rig import Rig
from tests.fakes.operations import memory_operations

KIND: Kind[Incident] = Kind(word="incident", name_of=lambda one: one.name, shown=shown)
AWAY = Observation(code="store_away", subject="store", message="away", severity=Severity.CRITICAL)


@dataclass(slots=True)
class Site:
    rig: Rig = field(default_factory=Rig)
    kept: OperationStores = field(init=False)
    journal: Journal = field(init=False)
    incidents: Incidents = field(init=False)

    def __post_init__(self) -> None:
        stores, instruments = self.rig.stores, self.rig.instruments
        self.kept = memory_operations(stores.audit, stores.outage)
        self.journal = Journal(self.kept.journal, instruments)
        self.incidents = Incidents(
            IncidentParts(
                incidents=Items(KIND, self.kept.incidents, instruments),
                journal=self.journal,
                audit=stores.audit,
                decisions=stores.decisions,
                intents=MemoryDesk(self.rig.clock),
                episodes=lambda: (),
            ),
            instruments,
        )

    def report(self, *found: Observation) -> None:
        self.rig.instruments.findings.report(Source.STORE, found)

    async def pass_time(self, seconds: float) -> None:
        self.rig.clock.time_s += seconds
        await self.incidents.look()


async def test_it_opens_with_the_first_cause_and_closes_when_quiet() -> None:
    site = Site()
    await site.incidents.look()
    assert site.incidents.open is None
    site.report(AWAY)
    await site.pass_time(5.0)
    incident = site.incidents.open
    assert incident is not None
    assert incident.title == "store_away on store"
    assert incident.opened_s == site.rig.clock.now() - 5.0
    site.report()
    await site.pass_time(QUIET_S - 1)
    assert site.incidents.open is not None
    await site.pass_time(40.0)
    assert site.incidents.open is None
    site.report(AWAY)
    await site.pass_time(1.0)
    assert len(site.incidents.all) == 2
    assert [one.what for one in await site.journal.between(0, 1e12, 9)] == [
        "opened: store_away on store",
        "closed: nothing is wrong any more",
        "opened: store_away on store",
    ]


async def test_people_open_note_and_close() -> None:
    site = Site()
    incident = await site.incidents.begin("drill", OPERATOR)
    with pytest.raises(Conflict, match="is open"):
        await site.incidents.begin("another", OPERATOR)
    site.rig.clock.time_s += 1.0
    site.incidents.note(incident.name, "we look at the pumps", OPERATOR)
    await site.pass_time(2 * QUIET_S)
    assert site.incidents.open is not None
    await site.incidents.close(incident.name, OPERATOR, "over")
    with pytest.raises(Conflict, match="closed already"):
        await site.incidents.close(incident.name, OPERATOR, "over")
    timeline = await site.incidents.timeline(incident.name)
    assert [(one.kind, one.who) for one in timeline.entries] == [
        (EntryKind.AUDIT, "operator"),
        (EntryKind.NOTE, "operator"),
        (EntryKind.AUDIT, "operator"),
    ]
    assert not timeline.cut


async def test_the_timeline_has_writes_and_decisions_of_its_span_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(incidents, "PAGE", 2)
    site = Site()
    for minutes in (30, 20, 1):
        await site.rig.stores.audit.append(
            AuditEntry(
                time_s=site.rig.clock.now() - 60.0 * minutes,
                author="anna",
                action="fleet.apply",
                subject=f"fleet@{minutes}",
            )
        )
    await site.rig.fleets.apply(fleet(), OPERATOR)
    await site.rig.tick()
    incident = await site.incidents.begin("drill", OPERATOR)
    site.rig.clock.time_s += 1.0
    timeline = await site.incidents.timeline(incident.name)
    kinds = [(one.kind, one.subject.split("@")[0]) for one in timeline.entries]
    assert (EntryKind.AUDIT, "fleet") in kinds
    subjects = {one.subject for one in timeline.entries}
    assert "fleet@1" in subjects
    assert not {"fleet@30", "fleet@20"} & subjects


async def test_a_store_that_is_away_is_tried_again() -> None:
    site = Site()
    site.report(AWAY)
    site.rig.stores.outage.away = True
    await site.incidents.look()
    assert site.incidents.open is None
    site.rig.stores.outage.away = False
    await site.incidents.look()
    assert site.incidents.open is not None


async def test_old_incidents_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incidents, "INCIDENTS_KEPT", 1)
    site = Site()
    first = await site.incidents.begin("drill", OPERATOR)
    await site.incidents.close(first.name, OPERATOR, "")
    site.report(AWAY)
    await site.pass_time(1.0)
    assert [one.title for one in site.incidents.all] == ["store_away on store"]


async def test_the_journal_waits_for_the_store_and_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(journal, "MOST_WAITING", 2)
    site = Site()
    site.rig.stores.outage.away = True
    for number in range(3):
        site.journal.note(EntryKind.NOTE, "s", str(number))
    await site.journal.write()
    assert site.journal.lost == 1
    site.rig.stores.outage.away = False
    assert [one.what for one in await site.journal.between(0, 1e12, 9)] == ["1", "2"]
    await site.journal.write()
    stored = await site.kept.journal.between(0, 1e12, 9)
    assert [one.what for one in stored] == ["1", "2"]
    assert [one.what for one in await site.journal.between(0, 1e12, 9)] == ["1", "2"]


async def test_what_is_written_while_it_is_read_stands_once() -> None:
    site = Site()
    site.journal.note(EntryKind.NOTE, "s", "once")
    # As if a write were under way: stored already, and not forgotten yet.
    await site.kept.journal.append(site.journal._batch())
    assert [one.what for one in await site.journal.between(0, 1e12, 9)] == ["once"]
