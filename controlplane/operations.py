"""For wiring: builds operations, from alert policies to webhooks."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from controlplane.domain.admission.flash_sale.life import Correction, Opening
from controlplane.domain.operations.alert_policies import MOST_POLICIES, AlertPolicy
from controlplane.domain.operations.changes import Change
from controlplane.domain.operations.incidents import Incident
from controlplane.domain.operations.listening import check_together
from controlplane.domain.operations.scenarios import Scenario, ScenarioRun
from controlplane.domain.operations.webhooks import Webhook, audited
from controlplane.engine.cadence import scaled
from controlplane.engine.intents.intents import Intents
from controlplane.engine.operations.alerts import AlertParts, Alerts
from controlplane.engine.operations.change_metrics import ChangeSources
from controlplane.engine.operations.changes import ChangeParts, Changes
from controlplane.engine.operations.incidents import IncidentParts, Incidents
from controlplane.engine.operations.intent_desk import Desk
from controlplane.engine.operations.items import Items, Kind, shown
from controlplane.engine.operations.journal import Journal
from controlplane.engine.operations.office import Office, Restorable
from controlplane.engine.operations.sales import SaleParts, Sales
from controlplane.engine.operations.scenarios import ScenarioParts, Scenarios
from controlplane.engine.operations.watch import Watch, WatchParts
from controlplane.engine.operations.webhooks import Messenger, WebhookParts
from controlplane.engine.publishing.couriers import Courier
from controlplane.engine.reconciling.loop import LoopParts
from controlplane.engine.stages import Instruments
from controlplane.ports.operations import Carrier, OperationStores
from controlplane.ports.stores import AuditLog
from controlplane.settings import Settings

C = TypeVar("C", bound=Carrier)


@dataclass(frozen=True, slots=True, kw_only=True)
class Acting(Generic[C]):
    """Through what operations act."""

    intents: Intents
    couriers: tuple[Courier, ...]
    carrier: C


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground(Generic[C]):
    """What operations stand on."""

    settings: Settings
    stores: OperationStores
    audit: AuditLog
    loop: LoopParts
    acting: Acting[C]
    instruments: Instruments


def office(ground: Ground[C]) -> Office:
    """All of operations, joined."""
    kinds, desk = _kinds(ground), Desk(ground.acting.intents)
    journal = Journal(ground.stores.journal, ground.instruments)
    alerts = _alerts(ground, kinds, desk)
    messenger = _messenger(ground, kinds)
    return Office(
        desk=desk,
        items=kinds.all,
        policies=kinds.policies,
        alerts=alerts,
        scenarios=_scenarios(ground, kinds, desk),
        changes=_changes(ground, kinds, desk),
        webhooks=kinds.webhooks,
        messenger=messenger,
        deliveries=ground.stores.deliveries,
        incidents=_incidents(ground, kinds, desk, journal, alerts),
        sales=Sales(
            SaleParts(
                fleets=ground.loop.fleets,
                openings=kinds.openings,
                corrections=kinds.corrections,
            ),
            ground.instruments,
        ),
        journal=journal,
        watch=Watch(
            WatchParts(
                intents=desk,
                publication=ground.loop.publication,
                couriers=ground.acting.couriers,
                changes=kinds.changes,
                incidents=kinds.incidents,
                journal=journal,
                messenger=messenger,
            ),
            ground.instruments,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kinds:
    """Items of every kind."""

    policies: Items[AlertPolicy]
    webhooks: Items[Webhook]
    scenarios: Items[Scenario]
    runs: Items[ScenarioRun]
    changes: Items[Change]
    incidents: Items[Incident]
    openings: Items[Opening]
    corrections: Items[Correction]

    @property
    def all(self) -> tuple[Restorable, ...]:
        """In the order in which they are restored."""
        return (
            self.policies,
            self.webhooks,
            self.scenarios,
            self.runs,
            self.changes,
            self.incidents,
            self.openings,
            self.corrections,
        )


def _kinds(ground: Ground[C]) -> _Kinds:
    stores, instruments = ground.stores, ground.instruments
    return _Kinds(
        policies=Items(
            Kind(
                word="alert-policy",
                name_of=lambda one: one.name,
                shown=shown,
                most=MOST_POLICIES,
                together=check_together,
            ),
            stores.alert_policies,
            instruments,
        ),
        webhooks=Items(
            Kind(word="webhook", name_of=lambda one: one.name, shown=audited, most=50),
            stores.webhooks,
            instruments,
        ),
        scenarios=Items(
            Kind(word="scenario", name_of=lambda one: one.name, shown=shown),
            stores.scenarios,
            instruments,
        ),
        runs=Items(
            Kind(word="scenario-run", name_of=lambda one: one.name, shown=shown),
            stores.runs,
            instruments,
        ),
        changes=Items(
            Kind(word="change", name_of=lambda one: one.name, shown=shown),
            stores.changes,
            instruments,
        ),
        incidents=Items(
            Kind(word="incident", name_of=lambda one: one.name, shown=lambda one: one.title),
            stores.incidents,
            instruments,
        ),
        openings=_openings(ground),
        corrections=_corrections(ground),
    )


def _openings(ground: Ground[C]) -> Items[Opening]:
    # Never as text: it is made of secrets.
    kind: Kind[Opening] = Kind(
        word="sale-opening", name_of=lambda one: one.sale, shown=lambda one: one.sale
    )
    return Items(kind, ground.stores.openings, ground.instruments)


def _corrections(ground: Ground[C]) -> Items[Correction]:
    kind: Kind[Correction] = Kind(word="sale-correction", name_of=lambda one: one.id, shown=shown)
    return Items(kind, ground.stores.corrections, ground.instruments)


def _alerts(ground: Ground[C], kinds: _Kinds, desk: Desk) -> Alerts:
    return Alerts(
        AlertParts(policies=kinds.policies, episodes=ground.stores.episodes, intents=desk),
        ground.instruments,
    )


def _messenger(ground: Ground[C], kinds: _Kinds) -> Messenger:
    return Messenger(
        WebhookParts(
            webhooks=kinds.webhooks,
            deliveries=ground.stores.deliveries,
            carrier=ground.acting.carrier,
            origins=frozenset(ground.settings.webhook_origins),
        ),
        ground.instruments,
    )


def _scenarios(ground: Ground[C], kinds: _Kinds, desk: Desk) -> Scenarios:
    return Scenarios(
        ScenarioParts(scenarios=kinds.scenarios, runs=kinds.runs, intents=desk, audit=ground.audit),
        ground.instruments,
    )


def _changes(ground: Ground[C], kinds: _Kinds, desk: Desk) -> Changes:
    settings, loop = ground.settings, ground.loop
    sources = ChangeSources(
        fleets=loop.fleets,
        publication=loop.publication,
        couriers=ground.acting.couriers,
        window=loop.intake.window,
        period_s=scaled(settings.cadence, settings.time_scale).period_s,
        fresh_s=settings.envelope.fresh_s * settings.time_scale,
    )
    return Changes(
        ChangeParts(changes=kinds.changes, intents=desk, audit=ground.audit, sources=sources),
        ground.instruments,
    )


def _incidents(
    ground: Ground[C], kinds: _Kinds, desk: Desk, journal: Journal, alerts: Alerts
) -> Incidents:
    return Incidents(
        IncidentParts(
            incidents=kinds.incidents,
            journal=journal,
            audit=ground.audit,
            decisions=ground.loop.decisions,
            intents=desk,
            episodes=lambda: alerts.episodes.values(),
        ),
        ground.instruments,
    )
