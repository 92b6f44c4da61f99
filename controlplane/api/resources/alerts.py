"""/v1/alerts: what Alertmanager tells us, and what fires now.

`POST /v1/alerts` takes the body of Alertmanager's webhook receiver, version 4, as it is. It is
answered when the policies have acted on it.
"""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from controlplane.api.dependencies import AlertSender, Services, Viewer
from controlplane.api.edge.paging import Cursor, Limit, page_of
from controlplane.api.wire.values import Items, Text, Time, Wire, seconds, stamp
from controlplane.domain.operations.alerts import Alert, AlertStatus, Origin, fingerprint_of
from controlplane.domain.operations.episodes import Episode, Heard
from controlplane.domain.operations.timeline import EntryKind

router = APIRouter(prefix="/v1", tags=["alerts"])

MOST_ALERTS = 10_000
MOST_LABELS = 100
# Alerts whose names stand in the journal's entry of one message.
MOST_SHOWN = 5

Labels = Annotated[
    dict[Annotated[Text, Field(max_length=128)], Annotated[Text, Field(max_length=1_000)]],
    Field(max_length=MOST_LABELS),
]


class Foreign(BaseModel):
    """What another program sends: members that a later version of it adds are let pass."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class AlertIn(Foreign):
    """One alert of a message."""

    status: AlertStatus
    labels: Labels
    annotations: Labels = Field(default={})
    starts_at: Annotated[Time | None, Field(alias="startsAt")] = None
    fingerprint: Annotated[Text, Field(max_length=64)] = ""

    def alert(self, now_s: float) -> Alert:
        """The domain's alert."""
        notes = self.annotations
        return Alert(
            origin=Origin.ALERTMANAGER,
            status=self.status,
            labels=self.labels,
            fingerprint=self.fingerprint or fingerprint_of(self.labels),
            starts_s=now_s if self.starts_at is None else seconds(self.starts_at),
            summary=notes.get("summary") or notes.get("description", ""),
        )


class MessageIn(Foreign):
    """Alertmanager's message, version 4."""

    version: Annotated[str, Field(pattern="^4$")] = "4"
    group_key: Annotated[Text, Field(alias="groupKey", max_length=4_000)] = ""
    receiver: Annotated[Text, Field(max_length=200)] = ""
    alerts: Annotated[list[AlertIn], Field(max_length=MOST_ALERTS)]


class ToldOut(Wire):
    """What became of a message; `intents` are those that stand because of alerts."""

    firing: int
    resolved: int
    dropped: int
    intents: list[str]


class AlertOut(Wire):
    """One alert that fires."""

    fingerprint: str
    origin: Origin
    labels: dict[str, str]
    summary: str
    since: datetime
    heard: datetime


class EpisodeOut(Wire):
    """What the alerts of one target have led to; `words` say why there is no intent."""

    target: str
    policy: str
    alerts: int
    intent: str
    words: str
    since: datetime


@router.post("/alerts")
async def take_alerts(services: Services, caller: AlertSender, message: MessageIn) -> ToldOut:
    """Take a message of Alertmanager and act on it by the policies."""
    now_s = services.instruments.now()
    alerts = [one.alert(now_s) for one in message.alerts]
    office = services.operations
    office.journal.note(
        EntryKind.ALERT, f"group/{message.group_key[:200]}", _words(alerts), caller.name
    )
    told = await office.alerts.take(alerts)
    return ToldOut(
        firing=told.firing,
        resolved=told.resolved,
        dropped=told.dropped,
        intents=sorted(one.intent for one in office.alerts.episodes.values() if one.intent),
    )


@router.get("/alerts")
async def list_alerts(
    services: Services, _caller: Viewer, limit: Limit = 100, cursor: Cursor = None
) -> Items[AlertOut]:
    """What fires now, the latest first."""
    page, after = page_of(
        services.operations.alerts.firing,
        lambda one: (-one.first_s, one.alert.origin.value, one.alert.fingerprint),
        limit,
        cursor,
    )
    return Items(items=[_alert(one) for one in page], next=after)


@router.get("/alerts:episodes")
async def list_episodes(
    services: Services, _caller: Viewer, limit: Limit = 100, cursor: Cursor = None
) -> Items[EpisodeOut]:
    """The targets that alerts are about, and the intent that each has led to."""
    episodes = list(services.operations.alerts.episodes.values())
    page, after = page_of(episodes, lambda one: (one.target,), limit, cursor)
    return Items(items=[episode_of(one) for one in page], next=after)


def episode_of(episode: Episode) -> EpisodeOut:
    """The wire form of an episode."""
    return EpisodeOut(
        target=episode.target,
        policy=episode.policy,
        alerts=len(episode.alerts),
        intent=episode.intent,
        words=episode.words,
        since=stamp(episode.began_s),
    )


def _alert(heard: Heard) -> AlertOut:
    alert = heard.alert
    return AlertOut(
        fingerprint=alert.fingerprint,
        origin=alert.origin,
        labels=dict(alert.labels),
        summary=alert.summary,
        since=stamp(heard.first_s),
        heard=stamp(heard.last_s),
    )


def _words(alerts: list[Alert]) -> str:
    """One line for a whole message."""
    firing = [one for one in alerts if one.status is AlertStatus.FIRING]
    names = list(dict.fromkeys(one.name or one.fingerprint for one in alerts))
    more = ", ..." if len(names) > MOST_SHOWN else ""
    shown = ", ".join(names[:MOST_SHOWN])
    return f"{len(firing)} firing, {len(alerts) - len(firing)} resolved: {shown}{more}"
