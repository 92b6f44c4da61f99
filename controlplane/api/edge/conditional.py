"""Entity tags of what is declared and published, and long polls that are answered from memory.

Called by the resources of what is declared or published. Tags are strong: what a fleet declares has
the fleet's generation, an item of operations the digest of itself, a section that of its bytes; a
route table's follows from it. An answer of 304 encodes nothing and reads no store.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Header

from controlplane.domain import snapshot as snapshots
from controlplane.domain.errors import Invalid
from controlplane.domain.routing.matching.table import Table
from controlplane.domain.routing.matching.wire import FORMAT, encoded
from controlplane.domain.snapshot import Section, Snapshot
from controlplane.engine.operations.items import digest_of
from controlplane.engine.publishing.publication import Publication


def tag(digest: str) -> str:
    """The strong entity tag of a digest."""
    return f'"{digest}"'


def tag_of(item: object) -> str:
    """The entity tag of a named item of operations."""
    return tag(digest_of(item))


def matches(condition: str | None, etag: str) -> bool:
    """Whether an If-None-Match header names the tag (RFC 9110: weak comparison, `*` is any)."""
    if condition is None:
        return False
    named = (part.strip().removeprefix("W/") for part in condition.split(","))
    return any(one in ("*", etag) for one in named)


def _expected(
    if_match: Annotated[
        str | None, Header(description="The fleet's generation that was read.")
    ] = None,
) -> int | None:
    """The generation that If-Match names; None without the header or with `*`."""
    return number_of(if_match, "GET /v1/fleet")


def _expected_digest(
    if_match: Annotated[
        str | None, Header(max_length=200, description="The ETag that was read.")
    ] = None,
) -> str | None:
    """The digest that If-Match names; None without the header or with `*`."""
    return _named(if_match)


def number_of(if_match: str | None, source: str) -> int | None:
    """The number that an If-Match header names; None without the header or with `*`.

    Raises:
        Invalid: `if_match_invalid`; it is none that `source` answers.
    """
    named = _named(if_match)
    if named is None:
        return None
    if not (named.isascii() and named.isdigit() and len(named) < 19):
        raise Invalid(
            "if_match_invalid",
            f"If-Match is {named[:80]!r}; give the ETag that {source} answered",
        )
    return int(named)


def _named(if_match: str | None) -> str | None:
    """What stands in the tag of an If-Match header; None when any will do."""
    if if_match is None or if_match.strip() == "*":
        return None
    return if_match.strip().removeprefix("W/").strip('"')


ExpectedGeneration = Annotated[int | None, Depends(_expected)]
ExpectedDigest = Annotated[str | None, Depends(_expected_digest)]


@dataclass(slots=True)
class ConfigBytes:
    """The encoded whole of the newest snapshot, made once for all who fetch it."""

    version: str = ""
    body: bytes = b""

    def of(self, snapshot: Snapshot) -> bytes:
        """The bytes of a snapshot's whole content."""
        if self.version != snapshot.version:
            self.body = snapshots.encode(snapshot)
            self.version = snapshot.version
        return self.body


def etag_of(snapshot: Snapshot, section: Section | None) -> str:
    """The tag of a section, or of the whole."""
    return tag(snapshot.version if section is None else snapshot.digests[section])


# Route tables that are kept as bytes; a fleet has a few gateway groups.
MOST_TABLES = 16


@dataclass(slots=True)
class TableBytes:
    """The encoded route tables of the newest routes, each made once for all who fetch it."""

    digest: str = ""
    tables: dict[str, bytes] = field(default_factory=dict)

    async def of(self, snapshot: Snapshot, group: str) -> bytes:
        """The bytes of a group's table; with 10,000 routes it takes too long for the loop."""
        if self.digest != snapshot.digests[Section.ROUTES]:
            self.digest, self.tables = snapshot.digests[Section.ROUTES], {}
        tables = self.tables
        if group not in tables:
            made = await asyncio.to_thread(_table, snapshot, group)
            if len(tables) >= MOST_TABLES:
                tables.clear()
            tables[group] = made
        return tables[group]


def table_tag(snapshot: Snapshot, group: str) -> str:
    """The tag of a group's table: the same routes and format give the same bytes."""
    return tag(f"{snapshot.digests[Section.ROUTES]}.{FORMAT}.{group}")


def _table(snapshot: Snapshot, group: str) -> bytes:
    routes = snapshot.content.routes
    return encoded(Table.of(routes.routes, routes.whitelists, group))


async def wait_for_change(
    publication: Publication, is_held: Callable[[Snapshot], bool], wait_s: float
) -> Snapshot | None:
    """The newest snapshot, as soon as the caller does not hold it, at the latest after `wait_s`.

    Returns:
        A snapshot, held by the caller if nothing changed in time; None if there is none yet.
    """
    clock = asyncio.get_running_loop().time
    deadline = clock() + wait_s
    snapshot = publication.current
    while wait_s > 0 and (snapshot is None or is_held(snapshot)):
        revision = 0 if snapshot is None else snapshot.revision
        newer = await publication.changed_since(revision, deadline - clock())
        if newer is None:
            break
        snapshot = newer
    return snapshot
