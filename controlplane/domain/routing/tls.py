"""TLS hosts: which certificate a gateway shows for which name.

A route names a certificate for its hosts; the files are on the gateways, so that no key is ever
in a snapshot, and a renewed file is taken without a restart. Compiled by each data plane.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.routing.route import Route


class TlsVersion(StrEnum):
    """The oldest version that is spoken."""

    V1_2 = "1.2"
    V1_3 = "1.3"


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """A certificate with its key, by files on the gateways.

    Attributes:
        chain_file, key_file: absolute paths, PEM, in one folder: gateways watch it, and take both
            again when files are moved into it.
        client_ca_file: authorities of client certificates, PEM; "" asks for none. Who sends none
            is let in, and refused by the routes that want one.
        minimum_version: of TLS.
    """

    name: str
    chain_file: str
    key_file: str
    client_ca_file: str = ""
    minimum_version: TlsVersion = TlsVersion.V1_2


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsHost:
    """A certificate with the names that it is shown for, sorted; `*` is any other name, or none."""

    certificate: Certificate
    names: tuple[str, ...]


def tls_hosts(certificates: Iterable[Certificate], routes: Iterable[Route]) -> tuple[TlsHost, ...]:
    """The certificates that routes name, with the hosts of these routes, by name.

    A host that routes give several certificates gets the first by name: see `disputed`.
    """
    chosen = _chosen(routes)
    found: dict[str, list[str]] = {}
    for host, names in chosen.items():
        found.setdefault(min(names), []).append(host)
    return tuple(
        TlsHost(certificate=one, names=tuple(sorted(found[one.name])))
        for one in sorted(certificates, key=lambda c: c.name)
        if one.name in found
    )


def disputed(routes: Iterable[Route]) -> dict[str, tuple[str, ...]]:
    """Host -> the certificates that routes give it, where there are several."""
    return {host: tuple(sorted(names)) for host, names in _chosen(routes).items() if len(names) > 1}


def _chosen(routes: Iterable[Route]) -> dict[str, set[str]]:
    chosen: dict[str, set[str]] = {}
    for route in routes:
        for host in route.hosts if route.tls else ():
            chosen.setdefault(host, set()).add(route.tls)
    return chosen
