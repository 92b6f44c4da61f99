"""The last discovery response of each type and a good one before it, in memory and on disk.

Written by `agent` when the control plane has sent one, served by `local_ads`. A response is kept
as it came: nothing is rendered here. What the Envoy beside it refuses is not served again: the
one before takes its place. A damaged file is ignored and said so; the others hold.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import structlog
from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf.message import DecodeError

from controlplane.domain.errors import Invalid
from controlplane.domain.xds import ACKNOWLEDGED, TYPES, ResourceType
from gateway.last_good.whole_file import read_whole, sync_folder, write_whole

MAGIC = b"signalbox-xds-1 "
REMEMBERED_REFUSALS = 64

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedResponse:
    """One response without its nonce, which belongs to the stream that it came on.

    Attributes:
        acknowledged: whether an Envoy is known to run it.
    """

    type: ResourceType
    version: str
    body: bytes
    resources: tuple[bytes, ...]
    acknowledged: bool = False

    def with_nonce(self, nonce: str) -> bytes:
        """The bytes for one stream: serialised fields may be appended to a message."""
        tail: bytes = discovery_pb2.DiscoveryResponse(nonce=nonce).SerializeToString()
        return self.body + tail


def response(raw: bytes) -> tuple[CachedResponse, str]:
    """A discovery response as it came, and its nonce.

    Raises:
        Invalid: the bytes are no response, or of a type that is not served.
    """
    try:
        message = discovery_pb2.DiscoveryResponse.FromString(raw)
    except DecodeError as error:
        raise Invalid("response_unreadable", f"not a DiscoveryResponse: {error}") from error
    kind = TYPES.get(message.type_url)
    if kind is None:
        raise Invalid("response_of_unknown_type", f"type {message.type_url!r} is not served")
    nonce: str = message.nonce
    message.ClearField("nonce")
    return (
        CachedResponse(
            type=kind,
            version=message.version_info,
            body=message.SerializeToString(deterministic=True),
            resources=tuple(resource.value for resource in message.resources),
            acknowledged=message.control_plane.identifier == ACKNOWLEDGED,
        ),
        nonce,
    )


class DiskCache:
    """Responses by type; every replica of a file is complete."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._responses: dict[ResourceType, CachedResponse] = {}
        self._earlier: dict[ResourceType, CachedResponse] = {}
        self._refused: dict[tuple[ResourceType, str], str] = {}
        # What came from upstream and what an Envoy refused may be written at the same time.
        self._writing = threading.Lock()

    @property
    def responses(self) -> Mapping[ResourceType, CachedResponse]:
        """The newest response of each type that the Envoy did not refuse."""
        return self._responses

    def load(self) -> None:
        """Read what an earlier run left.

        Raises:
            OSError: the folder cannot be made or read.
        """
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for kind in ResourceType:
            newest = _read(kind, self._path(kind))
            earlier = _read(kind, self._earlier_path(kind))
            if newest is not None and earlier is not None:
                self._earlier[kind] = earlier
            if found := newest or earlier:
                self._responses[kind] = found

    def remember(self, new: CachedResponse) -> None:
        """Serve this response from now on, and keep the best of those before it."""
        before = self._responses.get(new.type)
        self._responses[new.type] = new
        if before is None or before.version == new.version:
            return
        # Nobody knows whether an Envoy takes what none was there to acknowledge.
        if before.acknowledged or new.type not in self._earlier:
            self._earlier[new.type] = before

    def acknowledged(self, kind: ResourceType, version: str) -> None:
        """The Envoy runs this version."""
        held = self._responses.get(kind)
        if held is not None and held.version == version:
            self._responses[kind] = replace(held, acknowledged=True)

    def refuse(self, kind: ResourceType, version: str, words: str) -> bool:
        """The Envoy refused this version; whether the one before has taken its place."""
        while len(self._refused) >= REMEMBERED_REFUSALS:
            del self._refused[next(iter(self._refused))]
        self._refused[kind, version] = words
        held = self._responses.get(kind)
        if held is None or held.version != version or kind not in self._earlier:
            return False
        self._responses[kind] = self._earlier.pop(kind)
        return True

    def refusal(self, new: CachedResponse) -> str | None:
        """The Envoy's words when it has refused this version."""
        return self._refused.get((new.type, new.version))

    def store(self, kind: ResourceType) -> None:
        """Write what is held of a type to disk.

        Raises:
            OSError: the disk is full or gone; what was there before is still whole.
        """
        with self._writing:
            if kind in self._earlier:
                write_whole(self._earlier_path(kind), MAGIC, self._earlier[kind].body)
            write_whole(self._path(kind), MAGIC, self._responses[kind].body)
            sync_folder(self._folder)

    def _path(self, kind: ResourceType) -> Path:
        return self._folder / f"{kind.value}.response"

    def _earlier_path(self, kind: ResourceType) -> Path:
        return self._folder / f"{kind.value}.earlier"


def _read(kind: ResourceType, path: Path) -> CachedResponse | None:
    if not path.exists():
        return None
    try:
        return _checked(kind, read_whole(path, MAGIC))
    except (Invalid, OSError) as error:
        log.warning("cache.file_ignored", file=str(path), why=str(error))
        return None


def _checked(kind: ResourceType, body: bytes) -> CachedResponse:
    found, _ = response(body)
    if found.type is not kind:
        raise Invalid("cache_file_damaged", f"it holds {found.type} instead of {kind}")
    return found
