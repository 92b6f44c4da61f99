"""What an import is asked to do, and what comes of it. Used by every reader here.

A finding says why an item was left out; a note says what an imported item lost. Both are bounded,
because a file may repeat its fault ten thousand times.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from controlplane.api.fleet_document.findings import Enough, Findings, as_plain
from controlplane.api.fleet_document.reading import Place
from controlplane.api.route_documents.sketches import Draft
from controlplane.domain.errors import Invalid
from controlplane.domain.routing.route import Condition
from controlplane.domain.routing.whitelist import Whitelist

MOST_NOTES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """Names that routes may refer to; services with their versions."""

    services: Mapping[str, frozenset[str]] = field(default_factory=dict)
    groups: frozenset[str] = frozenset()
    callers: frozenset[str] = frozenset()
    certificates: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportWish:
    """What the caller chose for all routes of a file.

    Attributes:
        service: for what names none; of an OpenAPI file, for all of it. "" is none.
        hosts: instead of those of the file; () leaves them.
        gateways: groups that get the routes; () leaves what the file says, else all.
        whitelist: also refuse on their hosts what is not listed.
        channel: what requests of the whitelist's channel are like; its routes get it too.
        collection: name under which the routes come again, see `merging`; "" is none.
    """

    service: str = ""
    hosts: tuple[str, ...] = ()
    gateways: tuple[str, ...] = ()
    whitelist: bool = False
    channel: tuple[Condition, ...] = ()
    collection: str = ""
    declared: Declared = Declared()


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What an item lost, at its first place; `count` items lost the same."""

    line: int
    column: int
    path: str
    message: str
    count: int = 1


@dataclass(slots=True)
class Notes:
    """Collects notes, each message once."""

    _by_message: dict[str, Note] = field(default_factory=dict)

    def add(self, place: Place, message: str) -> None:
        """Note something at a place."""
        known = self._by_message.get(message)
        if known is not None:
            self._by_message[message] = replace(known, count=known.count + 1)
        elif len(self._by_message) < MOST_NOTES:
            line, column = place.node.line, place.node.column
            self._by_message[message] = Note(
                line=line, column=column, path=place.path, message=message
            )

    @property
    def all(self) -> tuple[Note, ...]:
        """The notes in the order of the document."""
        return tuple(sorted(self._by_message.values(), key=lambda n: (n.line, n.column, n.message)))


@contextmanager
def bounded(findings: Findings) -> Iterator[None]:
    """End the import when a file has so many faults that it was not meant to be this.

    Raises:
        Invalid: `route_file_unreadable` with the first findings.
    """
    try:
        yield
    except Enough as error:
        raise Invalid(
            "route_file_unreadable",
            f"the route file has {findings.count} faults or more, so nothing is imported: is it "
            "of the format that was named, and are its services declared?",
            {"errors": [as_plain(finding) for finding in findings.kept], "count": findings.count},
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What a file gave; `findings` are about what was left out."""

    routes: tuple[Draft, ...]
    whitelists: tuple[Whitelist, ...]
    findings: Findings
    notes: Notes
