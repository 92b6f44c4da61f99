"""TLS on Envoy: one filter chain for each certificate, chosen by the name in the handshake.

Called by `render`. Certificates are secrets of their own (SDS) that name files: Envoy watches
their folder and takes a renewed pair without a new listener, so no connection ends. Keys are never
here. A name without a certificate has no chain, and its connection is closed.
"""

from collections.abc import Iterable, Iterator

from envoy.config.core.v3 import base_pb2
from envoy.config.listener.v3 import listener_components_pb2, listener_pb2
from envoy.extensions.filters.listener.tls_inspector.v3 import tls_inspector_pb2
from envoy.extensions.transport_sockets.tls.v3 import common_pb2, secret_pb2, tls_pb2
from google.protobuf.wrappers_pb2 import BoolValue

from controlplane.adapters.envoy.clusters import over_ads
from controlplane.adapters.envoy.packing import packed
from controlplane.domain.routing.tls import Certificate, TlsHost, TlsVersion

ANY_NAME = "*"
PROTOCOLS = ("h2", "http/1.1")
VERSIONS = {
    TlsVersion.V1_2: common_pb2.TlsParameters.TLSv1_2,
    TlsVersion.V1_3: common_pb2.TlsParameters.TLSv1_3,
}


def secured(
    plain: listener_pb2.Listener, name: str, port: int, hosts: Iterable[TlsHost]
) -> listener_pb2.Listener:
    """The listener that does over TLS what another does without, at its address."""
    (usual,) = plain.filter_chains
    message = listener_pb2.Listener()
    message.CopyFrom(plain)
    message.name = name
    message.address.socket_address.port_value = port
    message.listener_filters.add(
        name="envoy.filters.listener.tls_inspector",
        typed_config=packed(tls_inspector_pb2.TlsInspector()),
    )
    del message.filter_chains[:]
    message.filter_chains.extend(_chain(usual, host) for host in hosts)
    return message


def secrets(hosts: Iterable[TlsHost]) -> Iterator[tuple[str, secret_pb2.Secret]]:
    """The certificates, and the authorities of client certificates, by name."""
    for host in hosts:
        certificate = host.certificate
        yield certificate.name, _certificate(certificate)
        if certificate.client_ca_file:
            yield _authorities_name(certificate), _authorities(certificate)


def _chain(
    usual: listener_components_pb2.FilterChain, host: TlsHost
) -> listener_components_pb2.FilterChain:
    chain = listener_components_pb2.FilterChain()
    chain.CopyFrom(usual)
    chain.name = host.certificate.name
    # No names at all: also for handshakes without one.
    if ANY_NAME not in host.names:
        chain.filter_chain_match.server_names.extend(host.names)
    chain.transport_socket.name = "envoy.transport_sockets.tls"
    chain.transport_socket.typed_config.CopyFrom(packed(_context(host.certificate)))
    return chain


def _context(certificate: Certificate) -> tls_pb2.DownstreamTlsContext:
    message = tls_pb2.DownstreamTlsContext(require_client_certificate=BoolValue(value=False))
    common = message.common_tls_context
    common.alpn_protocols.extend(PROTOCOLS)
    oldest = VERSIONS[certificate.minimum_version]
    common.tls_params.tls_minimum_protocol_version = oldest
    common.tls_certificate_sds_secret_configs.add(name=certificate.name, sds_config=over_ads())
    if certificate.client_ca_file:
        authorities = common.validation_context_sds_secret_config
        authorities.name = _authorities_name(certificate)
        authorities.sds_config.CopyFrom(over_ads())
        # A resumed session does not tell whether its certificate was checked.
        message.disable_stateless_session_resumption = True
        message.disable_stateful_session_resumption = True
    return message


def _certificate(certificate: Certificate) -> secret_pb2.Secret:
    message = secret_pb2.Secret(name=certificate.name)
    pair = message.tls_certificate
    pair.certificate_chain.filename = certificate.chain_file
    pair.private_key.filename = certificate.key_file
    pair.watched_directory.CopyFrom(_folder(certificate.chain_file))
    return message


def _authorities(certificate: Certificate) -> secret_pb2.Secret:
    message = secret_pb2.Secret(name=_authorities_name(certificate))
    message.validation_context.trusted_ca.filename = certificate.client_ca_file
    message.validation_context.watched_directory.CopyFrom(_folder(certificate.client_ca_file))
    return message


def _authorities_name(certificate: Certificate) -> str:
    """No certificate's name has a colon in it."""
    return f"{certificate.name}:clients"


def _folder(path: str) -> base_pb2.WatchedDirectory:
    return base_pb2.WatchedDirectory(path=path.rpartition("/")[0])
