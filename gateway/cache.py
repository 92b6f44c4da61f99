"""The last discovery response of each type, in memory and on disk.

Written by `agent` when the control plane has sent one, served by `local_ads`. A response is kept
as it came: nothing is rendered here. A file is whole or not there: written beside, synced, moved
into place, and checked by its digest when it is read. A damaged file is ignored and said so; the
others hold.
"""

import contextlib
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import structlog
from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf.message import DecodeError

from controlplane.domain.errors import Invalid
from controlplane.domain.xds import TYPES, ResourceType

MAGIC = b"signalbox-xds-1 "
DIGEST_DIGITS = 64
HEADER_BYTES = len(MAGIC) + DIGEST_DIGITS + 1

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedResponse:
    """One response without its nonce, which belongs to the stream that it came on."""

    type: ResourceType
    version: str
    body: bytes
    resources: tuple[bytes, ...]

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
        ),
        nonce,
    )


class DiskCache:
    """Responses by type; every replica of a file is complete."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._responses: dict[ResourceType, CachedResponse] = {}

    @property
    def responses(self) -> Mapping[ResourceType, CachedResponse]:
        """The newest response of each type."""
        return self._responses

    def load(self) -> None:
        """Read what an earlier run left.

        Raises:
            OSError: the folder cannot be made or read.
        """
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for kind in ResourceType:
            path = self._path(kind)
            if not path.exists():
                continue
            try:
                self._responses[kind] = _checked(kind, path.read_bytes())
            except (Invalid, OSError) as error:
                log.warning("cache.file_ignored", file=str(path), why=str(error))

    def remember(self, new: CachedResponse) -> None:
        """Serve this response from now on."""
        self._responses[new.type] = new

    def store(self, new: CachedResponse) -> None:
        """Write a response to disk.

        Raises:
            OSError: the disk is full or gone; what was there before is still whole.
        """
        digest = hashlib.sha256(new.body).hexdigest().encode()
        path = self._path(new.type)
        beside = path.with_suffix(".new")
        with contextlib.suppress(FileNotFoundError):
            beside.unlink()
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(MAGIC + digest + b"\n" + new.body)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        self._sync_folder()

    def _sync_folder(self) -> None:
        descriptor = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _path(self, kind: ResourceType) -> Path:
        return self._folder / f"{kind.value}.response"


def _checked(kind: ResourceType, data: bytes) -> CachedResponse:
    header, body = data[:HEADER_BYTES], data[HEADER_BYTES:]
    digest = header[len(MAGIC) :].rstrip(b"\n").decode(errors="replace")
    if not header.startswith(MAGIC) or hashlib.sha256(body).hexdigest() != digest:
        raise Invalid("cache_file_damaged", "its digest is not that of its content")
    found, _ = response(body)
    if found.type is not kind:
        raise Invalid("cache_file_damaged", f"it holds {found.type} instead of {kind}")
    return found
