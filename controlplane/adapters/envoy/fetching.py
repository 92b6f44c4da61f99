"""Filters whose configuration comes on the same stream (ECDS), so that it reaches open connections.

Called by `callers`, `concurrency` and `rates`.
"""

from envoy.config.core.v3 import config_source_pb2, extension_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as manager_pb2,
)
from google.protobuf.message import Message

from controlplane.adapters.envoy.clusters import over_ads
from controlplane.adapters.envoy.packing import packed


def fetched_filter(name: str, stand_in: Message) -> manager_pb2.HttpFilter:
    """A filter whose configuration is fetched by its name; until then the stand-in acts."""
    config = packed(stand_in)
    return manager_pb2.HttpFilter(
        name=name,
        config_discovery=config_source_pb2.ExtensionConfigSource(
            config_source=over_ads(), default_config=config, type_urls=[config.type_url]
        ),
    )


def named(name: str, message: Message) -> tuple[str, Message]:
    """A filter's configuration with the name by which it is fetched."""
    return name, extension_pb2.TypedExtensionConfig(name=name, typed_config=packed(message))
