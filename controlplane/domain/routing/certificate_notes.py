"""What is wrong with certificates as routes name them, as findings. Called by compilers."""

from collections.abc import Collection

from controlplane.domain.findings import Observation
from controlplane.domain.routing.route import Route
from controlplane.domain.routing.tls import disputed


def certificate_notes(routes: Collection[Route], ports: Collection[int]) -> tuple[Observation, ...]:
    """Hosts with several certificates; certificates that nobody shows.

    Args:
        ports: where gateways speak TLS.
    """
    several = tuple(_several(host, names) for host, names in sorted(disputed(routes).items()))
    named = sorted({route.tls for route in routes if route.tls})
    return several if ports else (*several, *map(_nowhere, named))


def _several(host: str, names: tuple[str, ...]) -> Observation:
    return Observation(
        code="certificate_disputed",
        subject=f"certificate/{names[1]}",
        message=f"routes give host {host} the certificates {', '.join(names)}: name one of them in "
        "all routes of the host",
        held=f"gateways show {names[0]} for {host}",
    )


def _nowhere(name: str) -> Observation:
    return Observation(
        code="certificate_without_port",
        subject=f"certificate/{name}",
        message=f"routes name certificate {name}, and no gateway group has a tls_port: give one",
        held="its hosts are served without TLS only",
    )
