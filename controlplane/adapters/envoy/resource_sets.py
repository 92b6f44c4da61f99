"""Resources of one type, and their serialised responses, shared between streams.

Made by `plane` for each artifact, read by `ads`. A set whose content did not change is kept from
one artifact to the next together with its responses.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf.any_pb2 import Any

from controlplane.domain.xds import TYPE_URLS, WILDCARD, ResourceType

VERSION_DIGITS = 32
NO_REGIONS: Mapping[str, str] = MappingProxyType({})
# Distinct sets of names that are remembered; Envoys of one group all ask for the same.
REMEMBERED_RESPONSES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A discovery response without its nonce. The version is a hash of what it carries, so it
    stays the same over restarts, and is another when other names are asked for."""

    version: str
    body: bytes

    def with_nonce(self, nonce: str, identifier: str = "") -> bytes:
        """The bytes for one stream: serialised fields may be appended to a message."""
        message = discovery_pb2.DiscoveryResponse(nonce=nonce)
        if identifier:
            message.control_plane.identifier = identifier
        tail: bytes = message.SerializeToString()
        return self.body + tail


class ResourceSet:
    """All resources of one type for one gateway group."""

    def __init__(self, kind: ResourceType, resources: Mapping[str, bytes]) -> None:
        self.kind = kind
        self.resources = dict(sorted(resources.items()))
        self._responses: dict[frozenset[str], Response | None] = {}

    def response(self, names: frozenset[str]) -> Response | None:
        """The response for a subscription; None when it has nothing of what is asked for.

        Args:
            names: empty means all, for the types where that is allowed.
        """
        if names not in self._responses:
            if len(self._responses) >= REMEMBERED_RESPONSES:
                self._responses.clear()
            self._responses[names] = self._make(names)
        return self._responses[names]

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions of the responses that were made from this set."""
        return tuple(made.version for made in self._responses.values() if made is not None)

    def _make(self, names: frozenset[str]) -> Response | None:
        everything = not names and self.kind in WILDCARD
        chosen = [d for name, d in self.resources.items() if everything or name in names]
        if not chosen and not everything:
            return None
        url = TYPE_URLS[self.kind]
        message = discovery_pb2.DiscoveryResponse(
            type_url=url, resources=[Any(type_url=url, value=data) for data in chosen]
        )
        version = hashlib.sha256(message.SerializeToString(deterministic=True)).hexdigest()
        message.version_info = version[:VERSION_DIGITS]
        body = message.SerializeToString(deterministic=True)
        return Response(version=message.version_info, body=body)


View = Mapping[ResourceType, ResourceSet]


def regional_name(name: str, region: str) -> str:
    """Name of a resource as the groups of one region get it; its own name for region "".

    Of a route table it is one group in place of a region. No name of a service, region or group
    has an @ in it.
    """
    return f"{name}@{region}" if region else name


def listener_name(group: str, what: str) -> str:
    """Name of a group's listener beside its usual one; no name of a group has a colon in it."""
    return f"{group}:{what}"


def group_of(listener: str) -> str:
    """The group of a listener, by the name of its part."""
    return listener.partition(":")[0]


def shared_name(part: str) -> str:
    """Name of the part that stands for every region without one of its own."""
    return part.partition("@")[0]


def is_regional(part: str) -> bool:
    """Whether a part stands beside one of the same resource for every other region or group."""
    return "@" in part


def views(
    parts: Iterable[tuple[str, bytes]],
    before: Mapping[str, View],
    regions: Mapping[str, str] = NO_REGIONS,
) -> dict[str, View]:
    """Gateway group -> what it gets, from an artifact's parts.

    Args:
        before: views in force; an equal set is taken over as it is.
        regions: gateway group -> its region, of those that have one.
    """
    shared: dict[ResourceType, dict[str, bytes]] = {kind: {} for kind in SHARED}
    groups: dict[str, dict[str, bytes]] = {}
    own: dict[tuple[str, str], dict[str, bytes]] = {}
    for part, data in parts:
        kind, _, name = part.partition("/")
        if kind == ResourceType.LISTENER:
            groups.setdefault(group_of(name), {})[name] = data
        elif is_regional(name):
            resource, _, whose = name.partition("@")
            own.setdefault((kind, whose), {})[resource] = data
        else:
            shared[ResourceType(kind)][name] = data
    known = _Known(before)
    sets = {kind: known.same(kind, resources) for kind, resources in shared.items()}
    particular = {
        (kind, whose): known.same(ResourceType(kind), {**shared[ResourceType(kind)], **resources})
        for (kind, whose), resources in own.items()
    }

    def particular_to(kind: ResourceType, whose: str) -> ResourceSet:
        return particular.get((kind, whose), sets[kind])

    return {
        group: {
            **sets,
            ResourceType.ENDPOINT: particular_to(ResourceType.ENDPOINT, regions.get(group, "")),
            ResourceType.ROUTE: particular_to(ResourceType.ROUTE, group),
            ResourceType.LISTENER: known.same(ResourceType.LISTENER, listeners),
        }
        for group, listeners in groups.items()
    }


SHARED = (
    ResourceType.CLUSTER,
    ResourceType.ENDPOINT,
    ResourceType.ROUTE,
    ResourceType.EXTENSION,
    ResourceType.SECRET,
)


class _Known:
    """Sets in force or just made, to take over those whose content is the same."""

    def __init__(self, before: Mapping[str, View]) -> None:
        sets = {id(s): s for view in before.values() for s in view.values()}
        self._sets = list(sets.values())

    def same(self, kind: ResourceType, resources: Mapping[str, bytes]) -> ResourceSet:
        for known in self._sets:
            if known.kind is kind and known.resources == resources:
                return known
        made = ResourceSet(kind, resources)
        self._sets.append(made)
        return made
