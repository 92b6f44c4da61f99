"""Envoy's resources as text, for people; Envoys themselves get the bytes."""

from collections.abc import Mapping
from dataclasses import replace

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.core.v3 import extension_pb2
from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_pb2
from envoy.extensions.transport_sockets.tls.v3 import secret_pb2
from google.protobuf import json_format
from google.protobuf.message import Message

from controlplane.domain.xds import ResourceType
from controlplane.ports.outside import Artifact

_MESSAGES: Mapping[str, type[Message]] = {
    ResourceType.CLUSTER: cluster_pb2.Cluster,
    ResourceType.ENDPOINT: endpoint_pb2.ClusterLoadAssignment,
    ResourceType.LISTENER: listener_pb2.Listener,
    ResourceType.ROUTE: route_pb2.RouteConfiguration,
    ResourceType.EXTENSION: extension_pb2.TypedExtensionConfig,
    ResourceType.SECRET: secret_pb2.Secret,
}


def readable(artifact: Artifact) -> Artifact:
    """The artifact with resources as JSON text."""
    parts = tuple((f"{name}.json", _text(name, data)) for name, data in artifact.parts)
    return replace(artifact, parts=parts)


def _text(name: str, data: bytes) -> bytes:
    message = _MESSAGES[name.partition("/")[0]].FromString(data)
    # A map has no order of its own, and another one in each process.
    text = json_format.MessageToJson(message, preserving_proto_field_name=True, sort_keys=True)
    return text.encode()
