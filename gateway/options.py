"""What the agent is told at its start.

Made by `__main__` from the command line, read by everything in this package.
"""

import argparse
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from controlplane.domain.errors import Invalid, Refused
from gateway.last_good.polling import Source

Place = tuple[str, int]
LAST_PORT = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """One agent.

    Attributes:
        cache: folder of the last responses.
        control_plane, listen: (host, port) of ADS there and here.
        node, group: of the Envoy beside it.
        token_file: read before each connection, so that a token may be rotated.
        connect_timeout_s: until the control plane has taken the stream.
        back_off_s, back_off_max_s: pause after a failed connection, doubled up to the maximum.
        refused_pause_s: pause after the control plane has refused this agent.
        keepalive_s: a silent connection is probed after this time.
        routes: where the group's route table is polled; None keeps none.
    """

    cache: Path
    control_plane: Place
    listen: Place
    node: str
    group: str
    token_file: Path
    connect_timeout_s: float = 3.0
    back_off_s: float = 0.1
    back_off_max_s: float = 1.0
    refused_pause_s: float = 2.0
    keepalive_s: float = 2.0
    routes: Source | None = None


def place(text: str) -> Place:
    """HOST:PORT as a pair; IPv6 addresses in brackets.

    Raises:
        Invalid: it is something else.
    """
    host, colon, port = text.rpartition(":")
    number = int(port) if port.isascii() and port.isdigit() else -1
    if not colon or not host or not 0 <= number <= LAST_PORT:
        raise Invalid("address_invalid", f"{text!r} is not HOST:PORT with a port of 0..{LAST_PORT}")
    return host.strip("[]"), number


def polled(given: argparse.Namespace, path: str, identity: str = "") -> Source | None:
    """What is polled at the control planes of `--api`, with `--token-file`, for `--group`.

    Args:
        identity: of who takes the answers in use, as in `Source`.

    Returns:
        None without `--api`: there is what was kept, and nothing else.

    Raises:
        Invalid: `--api` without `--token-file`.
    """
    if not given.api:
        return None
    if given.token_file is None:
        raise Invalid("option_invalid", "--api needs --token-file: a token of the role gateway")
    return Source(
        urls=tuple(each.rstrip("/") for each in given.api),
        path=path,
        token_file=given.token_file,
        identity=identity,
        parameters={"gateway": given.group},
    )


def require_loopback(listen: Place) -> None:
    """Refuse an address that other machines reach: what is served there asks for no token.

    Raises:
        Refused: it is not loopback.
    """
    host = listen[0]
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = host == "localhost"
    if not loopback:
        raise Refused(
            "listen_not_loopback",
            f"{host} is not a loopback address, and the cache is served without a token; "
            "listen on 127.0.0.1, or force it when the network is yours alone (--force-listen)",
        )
