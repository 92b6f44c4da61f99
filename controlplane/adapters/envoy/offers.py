"""What each consumer is offered: the newest version, or the last good one where that was refused.

Owned by `ads`, asked by its sessions. A version that an Envoy refused and none acknowledged is
in quarantine: who asks for it gets the last version that an Envoy of its group acknowledged. The
agent beside an Envoy is offered what that Envoy acknowledged, so that it never keeps on disk
what its own Envoy does not take.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from controlplane.adapters.envoy.culprits import environmental
from controlplane.adapters.envoy.nodes import NodeBook
from controlplane.adapters.envoy.resource_sets import ResourceSet, Response, View
from controlplane.domain.xds import ACKNOWLEDGED, ResourceType

T = TypeVar("T")

# An Envoy judges each of these by itself and takes the good ones; an earlier version of all would
# bring revoked keys back.
ONE_BY_ONE = frozenset({ResourceType.EXTENSION, ResourceType.SECRET})
# Versions that are remembered as refused, and as run by an Envoy.
REMEMBERED = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who a stream says it is."""

    secret: str | None
    node: str
    group: str
    agent: bool

    @property
    def name(self) -> str:
        """The name in status, where an Envoy and the agent beside it are two lines."""
        return f"{self.node} (agent)" if self.agent else self.node


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One subscription of one consumer; the names as in `ResourceSet.response`."""

    caller: Caller
    kind: ResourceType
    names: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A version that a consumer refused, in its words."""

    kind: ResourceType
    version: str
    group: str
    node: str
    words: str


class Offers:
    """Views in force, what was acknowledged of them, and what was refused."""

    def __init__(self, book: NodeBook) -> None:
        self._book = book
        self._views: Mapping[str, View] = {}
        self._good: dict[tuple[str, ResourceType], ResourceSet] = {}
        self._quarantine: dict[tuple[ResourceType, str], Refusal] = {}
        self._run: dict[tuple[ResourceType, str], None] = {}
        self.revision = 0

    def publish(self, views: Mapping[str, View], revision: int) -> None:
        """Put new views in force.

        A group that is no longer there keeps what it was last given: missing is not zero.
        """
        self._views = {**self._views, **views}
        self.revision = revision

    def newest(self, asked: Asked) -> Response | None:
        """What is in force, whoever acknowledged or refused it."""
        resources = self._views.get(asked.caller.group, {}).get(asked.kind)
        return None if resources is None else resources.response(asked.names)

    def offer(self, asked: Asked) -> Response | None:
        """What this consumer may be sent; None when it keeps what it has."""
        newest = self.newest(asked)
        if newest is None:
            return None
        if asked.caller.agent:
            return self._to_agent(asked, newest)
        if (asked.kind, newest.version) not in self._quarantine:
            return newest
        # Nobody has anything better yet: then there is nothing to lose by offering it.
        return self._last_good(asked) or newest

    def identifier(self, asked: Asked, version: str) -> str:
        """What an agent is told with a version: whether an Envoy of its group runs it."""
        if not asked.caller.agent:
            return ""
        running = self._book.running(asked.caller.node) or {}
        good = self._last_good(asked)
        known = {running.get(asked.kind), good.version if good is not None else ""}
        return ACKNOWLEDGED if version in known else ""

    def acknowledged(self, asked: Asked, version: str) -> bool:
        """An Envoy runs a version; whether it is the newest and was not known to be good."""
        if (asked.kind, version) not in self._run:
            _trim(self._run)
            self._run[asked.kind, version] = None
            self._quarantine.pop((asked.kind, version), None)
        newest = self.newest(asked)
        if newest is None or newest.version != version:
            return False
        resources = self._views[asked.caller.group][asked.kind]
        key = (asked.caller.group, asked.kind)
        if self._good.get(key) is resources:
            return False
        self._good[key] = resources
        return True

    def refused(self, asked: Asked, version: str, words: str) -> None:
        """A consumer refused a version; it is in quarantine unless an Envoy ran it, or the
        refusal is about that consumer's own machine."""
        refusal = Refusal(
            kind=asked.kind,
            version=version,
            group=asked.caller.group,
            node=asked.caller.name,
            words=words,
        )
        key = (asked.kind, version)
        run = key in self._run or self._is_good(asked.kind, version)
        alone = asked.kind in ONE_BY_ONE or environmental(words)
        if run or alone or key in self._quarantine:
            return
        _trim(self._quarantine)
        self._quarantine[key] = refusal

    def quarantined(self) -> list[Refusal]:
        """The refusals of versions that are in force, so that something has to be left out."""
        sets = {id(s): s for view in self._views.values() for s in view.values()}
        keys = [(one.kind, version) for one in sets.values() for version in one.versions]
        return [self._quarantine[key] for key in keys if key in self._quarantine]

    def _is_good(self, kind: ResourceType, version: str) -> bool:
        """Whether a group runs it: a version that stays for long is forgotten among those run."""
        sets = (good for (_, of), good in self._good.items() if of is kind)
        return any(version in good.versions for good in sets)

    def _last_good(self, asked: Asked) -> Response | None:
        good = self._good.get((asked.caller.group, asked.kind))
        return None if good is None else good.response(asked.names)

    def _to_agent(self, asked: Asked, newest: Response) -> Response | None:
        running = self._book.running(asked.caller.node)
        if running is None:
            # No Envoy beside it to ask.
            refused = (asked.kind, newest.version) in self._quarantine
            return self._last_good(asked) if refused else newest
        for response in (newest, self._last_good(asked)):
            if response is not None and running.get(asked.kind) == response.version:
                return response
        return None


def _trim(remembered: dict[tuple[ResourceType, str], T]) -> None:
    """Make room for one more, at the cost of the oldest."""
    while len(remembered) >= REMEMBERED:
        del remembered[next(iter(remembered))]
