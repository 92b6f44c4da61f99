"""The last good configuration of `/v1/config`: as bytes on disk, as values in memory.

Kept by `polling`, read by the application's client and by `python -m gateway route`, so that both
go on, and start, while the control plane is away.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from controlplane.domain import canonical
from controlplane.domain.errors import Invalid
from controlplane.domain.instances.placement import EVERY_VERSION
from controlplane.domain.routing.matching.table import Table
from controlplane.domain.snapshot import Content, ServiceEndpoints
from controlplane.domain.topology import EVERYWHERE
from gateway.last_good.whole_file import read_whole, sync_folder, write_whole

MAGIC = b"signalbox-config-1 "
FILE_NAME = "config.snapshot"

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """What a gateway of one group goes by.

    Attributes:
        tag: the ETag to ask with; "" was never told.
        weights: service -> data centre -> basis points, for the region of the group.
        table: the routes of the group.
    """

    revision: int
    tag: str
    services: Mapping[str, ServiceEndpoints]
    weights: Mapping[str, Mapping[str, int]]
    table: Table = field(repr=False)


def configuration(body: bytes, tag: str, revision: int, group: str) -> Configuration:
    """The configuration of a gateway group from the bytes of `/v1/config`.

    Raises:
        Invalid: the bytes are no configuration that this version understands.
    """
    content = canonical.decode(Content, body)
    routes = content.routes
    return Configuration(
        revision=revision,
        tag=tag,
        services={each.service: each for each in content.endpoints.services},
        weights=_weights(content, group),
        table=Table.of(routes.routes, routes.whitelists, group),
    )


def _weights(content: Content, group: str) -> dict[str, Mapping[str, int]]:
    regions = [each.region for each in content.routes.gateways if each.name == group]
    region = next(iter(regions), None)
    found: dict[str, Mapping[str, int]] = {}
    for one in content.weights.weights:
        if one.version != EVERY_VERSION or one.source_region not in (EVERYWHERE, region):
            continue
        # A region's own split comes before the one of all others.
        if one.source_region == region or one.service not in found:
            found[one.service] = one.weights
    return found


class LastGood:
    """One file; every write of it is whole."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME

    def load(self, group: str) -> Configuration | None:
        """What an earlier run left; a damaged file is said and ignored.

        Raises:
            OSError: the folder cannot be made.
        """
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._path.exists():
            return None
        try:
            head, _, body = read_whole(self._path, MAGIC).partition(b"\n")
            revision, _, tag = head.decode().partition(" ")
            return configuration(body, tag, int(revision), group)
        except (Invalid, OSError, ValueError) as error:
            log.warning("last_good.ignored", file=str(self._path), why=str(error))
            return None

    def store(self, body: bytes, tag: str, revision: int) -> None:
        """Keep the bytes of a configuration.

        Raises:
            OSError: the disk is full or gone; what was there before is still whole.
        """
        write_whole(self._path, MAGIC, f"{revision} {tag}\n".encode() + body)
        sync_folder(self._path.parent)
