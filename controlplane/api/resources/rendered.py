"""GET /v1/config/rendered: the published configuration as files of one kind of data plane."""

import asyncio
from enum import StrEnum

from fastapi import APIRouter

from controlplane.api.dependencies import ConfigReader, Services
from controlplane.api.published import check_group, group_names, known
from controlplane.api.wire.values import Wire
from controlplane.domain.errors import Invalid
from controlplane.domain.snapshot import Snapshot

router = APIRouter(prefix="/v1", tags=["config"])


class PlaneName(StrEnum):
    """Kinds of data planes that files are made for."""

    CADDY = "caddy"
    ENVOY = "envoy"
    HAPROXY = "haproxy"
    NGINX = "nginx"
    TRAEFIK = "traefik"


class FileOut(Wire):
    """One file; `text` is UTF-8."""

    name: str
    text: str


class NoteOut(Wire):
    """What this plane cannot express, or not quite."""

    code: str
    subject: str
    message: str
    held: str
    severity: str


class RenderedOut(Wire):
    """The files of a gateway group on one kind of data plane."""

    plane: PlaneName
    group: str
    revision: int
    version: str
    files: list[FileOut]
    notes: list[NoteOut]


@router.get("/config/rendered")
async def read_rendered(
    services: Services, _caller: ConfigReader, plane: PlaneName, group: str | None = None
) -> RenderedOut:
    """What a plane is given, of the newest snapshot; the group may be left out when it is one."""
    snapshot = known(services.publication.current)
    name = _group(snapshot, group)
    rendering = services.renderings[plane]
    artifact = await asyncio.to_thread(rendering, snapshot, name)
    return RenderedOut(
        plane=plane,
        group=name,
        revision=artifact.revision,
        version=artifact.version,
        files=[FileOut(name=part, text=data.decode()) for part, data in artifact.parts],
        notes=[
            NoteOut(
                code=note.code,
                subject=note.subject,
                message=note.message,
                held=note.held,
                severity=note.severity,
            )
            for note in artifact.notes
        ],
    )


def _group(snapshot: Snapshot, asked: str | None) -> str:
    names = group_names(snapshot)
    if asked is not None:
        check_group(snapshot, asked)
        return asked
    if len(names) != 1:
        raise Invalid(
            "gateway_group_needed",
            f"name a gateway group; there are {', '.join(names) or 'none'}",
        )
    return names[0]
