"""Who is connected, what each acknowledged and what it refused.

Written by `ads`, read for `signalbox status` through the plane's `observe`. Also the memory of
refused versions: a node that comes back is not sent again what it refused. Memory is bounded.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from controlplane.domain.xds import Event, ResourceType, Stream
from controlplane.ports.outside import PlaneNode

REMEMBERED_NODES = 20_000


@dataclass(slots=True, kw_only=True)
class NodeRecord:
    """What is known of one node; it outlives its streams."""

    name: str
    group: str
    agent: bool = False
    streams: int = 0
    revision: int = 0
    seen_s: float = 0.0
    acks: int = 0
    nacks: int = 0
    acked: dict[ResourceType, str] = field(default_factory=dict)
    refused: dict[ResourceType, str] = field(default_factory=dict)
    refused_s: dict[ResourceType, float] = field(default_factory=dict)
    quarantine: dict[ResourceType, frozenset[str]] = field(default_factory=dict)

    def status(self) -> PlaneNode:
        """The record as the port's value."""
        return PlaneNode(
            name=self.name,
            group=self.group,
            connected=self.streams > 0,
            revision=self.revision,
            acked=tuple(sorted((kind.value, version) for kind, version in self.acked.items())),
            refused=tuple(sorted((kind.value, words) for kind, words in self.refused.items())),
            seen_s=self.seen_s,
            acks=self.acks,
            nacks=self.nacks,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingRefusal:
    """What one Envoy refuses now, in its words."""

    group: str
    node: str
    kind: ResourceType
    words: str


class Joining(Protocol):
    """Who begins a stream."""

    @property
    def name(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def agent(self) -> bool: ...


class NodeBook:
    """Records by name."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._records: dict[str, NodeRecord] = {}
        # Those of them with a refusal that stands, so that nobody has to look through all.
        self._refusing: dict[str, NodeRecord] = {}
        self.acks = 0
        self.nacks = 0

    def joined(self, caller: Joining) -> NodeRecord:
        """A stream of a node has begun."""
        name, group = caller.name, caller.group
        record = self._records.pop(name, None)
        record = record or NodeRecord(name=name, group=group, agent=caller.agent)
        # Taken out and put back: the dictionary is in the order of the last joining.
        self._records[name] = record
        self._forget()
        record.group = group
        record.streams += 1
        record.seen_s = self._now()
        return record

    def left(self, record: NodeRecord) -> None:
        """A stream of a node has ended."""
        record.streams -= 1
        record.seen_s = self._now()

    def saw(self, record: NodeRecord, kind: ResourceType, event: Event, stream: Stream) -> None:
        """Take over what a request changed."""
        subscription = stream.subscriptions[kind]
        record.seen_s = self._now()
        if subscription.acked:
            record.acked[kind] = subscription.acked
        if event is Event.ACK:
            record.acks += 1
            self.acks += 1
            record.refused.pop(kind, None)
            if not record.refused:
                self._refusing.pop(record.name, None)
        if event is Event.NACK:
            record.nacks += 1
            self.nacks += 1
            record.refused[kind] = subscription.message
            record.refused_s[kind] = record.seen_s
            self._refusing[record.name] = record
            record.quarantine[kind] = subscription.refused

    def running(self, name: str) -> Mapping[ResourceType, str] | None:
        """The version of each type that a connected Envoy acknowledged; None when it is away."""
        record = self._records.get(name)
        return record.acked if record is not None and record.streams > 0 else None

    def standing(self, longer_s: float) -> list[StandingRefusal]:
        """What connected Envoys have refused for longer than this, by group and name."""
        late_s = self._now() - longer_s
        found = [
            StandingRefusal(group=record.group, node=name, kind=kind, words=words)
            for name, record in self._refusing.items()
            if record.streams
            for kind, words in record.refused.items()
            if record.refused_s[kind] <= late_s
        ]
        return sorted(found, key=lambda one: (one.group, one.node, one.kind))

    def all(self) -> list[PlaneNode]:
        """Every record, by name."""
        return [record.status() for _, record in sorted(self._records.items())]

    def _forget(self) -> None:
        surplus = len(self._records) - REMEMBERED_NODES
        gone = [name for name, record in self._records.items() if record.streams == 0]
        for name in gone[: max(surplus, 0)]:
            del self._records[name]
            self._refusing.pop(name, None)
