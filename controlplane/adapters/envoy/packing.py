"""Messages inside messages, always with the same bytes for the same content; and durations.

Called by everything here that nests a typed extension.
"""

from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from xds.core.v3 import extension_pb2


def packed(message: Message) -> Any:
    """The message as Any with deterministic bytes."""
    packet = Any()
    packet.Pack(message, deterministic=True)
    return packet


def extension(name: str, config: Message) -> extension_pb2.TypedExtensionConfig:
    """A named extension as the matching API wants it."""
    return extension_pb2.TypedExtensionConfig(name=name, typed_config=packed(config))


def milliseconds(value: int) -> Duration:
    """A protobuf duration."""
    return Duration(seconds=value // 1_000, nanos=value % 1_000 * 1_000_000)
