"""`python -m gateway wiring`: how a proxy is told to ask the agent, as text for its configuration.

Nothing is asked and nothing is changed.
"""

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from controlplane.domain.admission.agent_door import WhenAway
from controlplane.domain.errors import Invalid
from gateway.admission.session_queue.signing import jwk_set
from gateway.options import place
from gateway.wiring.caddy import caddy
from gateway.wiring.envoy import envoy
from gateway.wiring.haproxy import haproxy
from gateway.wiring.nginx import nginx
from gateway.wiring.plan import Plan
from gateway.wiring.tickets import require_no_tickets
from gateway.wiring.traefik import traefik

PLANES: Mapping[str, Callable[[Plan], str]] = {
    "caddy": caddy,
    "envoy": envoy,
    "haproxy": haproxy,
    "nginx": nginx,
    "traefik": traefik,
}
FORWARD_AUTH = "127.0.0.1:18003"
CHECK_TICKETS = frozenset({"envoy", "haproxy"})


def wiring(arguments: Sequence[str]) -> str:
    """What to print.

    Raises:
        Invalid: an address or a header name is none.
    """
    given = _parser().parse_args(arguments)
    _check_names(given)
    plan = Plan(
        agent=place(_agent(given)),
        checked=place(given.checked),
        spare=place(given.spare),
        when_away=WhenAway(given.when_away),
        headers=tuple(given.header),
        cookies=tuple(given.cookie),
        queues=_queues(given),
        ticket_keys=_ticket_keys(given),
        key_folder=given.key_folder,
    )
    if given.plane not in CHECK_TICKETS:
        require_no_tickets(plan, given.plane)
    return PLANES[given.plane](plan)


def _check_names(given: argparse.Namespace) -> None:
    for name in given.header:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]{0,63}", name):
            raise Invalid("header_invalid", f"--header is {name[:80]!r}; give a name as X-Class")
    for name in given.cookie:
        if not re.fullmatch(r"[A-Za-z0-9._-]{1,100}", name):
            raise Invalid(
                "option_invalid", f"--cookie is {name[:80]!r}; give a name as signalbox_ticket_NAME"
            )


def _agent(given: argparse.Namespace) -> str:
    """Forward-auth has a usual port, the agent's own proxy has none."""
    if given.agent is None and given.plane == "haproxy":
        raise Invalid(
            "option_invalid",
            "HAProxy passes requests to the agent's own proxy: start `signalbox gateway run` with "
            "--proxy 127.0.0.1:18080, say, and give the same address as --agent here",
        )
    return given.agent or FORWARD_AUTH


def _queues(given: argparse.Namespace) -> tuple[str, ...]:
    for name in given.queue:
        if not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", name):
            raise Invalid("option_invalid", f"--queue is {name[:80]!r}; give the policy's name")
    if bool(given.queue) != bool(given.ticket_key):
        raise Invalid(
            "option_invalid", "--queue and --ticket-key go together: whose tickets, and their key"
        )
    return tuple(given.queue)


def _ticket_keys(given: argparse.Namespace) -> str:
    try:
        return jwk_set([file.read_bytes() for file in given.ticket_key])
    except OSError as error:
        raise Invalid("option_invalid", f"--ticket-key cannot be read: {error}") from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gateway wiring", description="How a proxy is told to ask the agent."
    )
    parser.add_argument("--plane", choices=sorted(PLANES), required=True)
    parser.add_argument(
        "--agent",
        help=f"its --forward-auth [{FORWARD_AUTH}]; for HAProxy its --proxy, which has no default",
    )
    parser.add_argument(
        "--checked",
        default=FORWARD_AUTH,
        help="for HAProxy: the agent's --forward-auth, which says whether it is well [%(default)s]",
    )
    parser.add_argument(
        "--when-away",
        choices=[each.value for each in WhenAway],
        default=WhenAway.ADMIT.value,
        help="what becomes of requests while the agent does not answer [%(default)s]",
    )
    parser.add_argument(
        "--spare",
        default="127.0.0.1:18004",
        help="free address of nginx's, Caddy's or Traefik's own [%(default)s]",
    )
    _add_ticket_options(parser)
    parser.add_argument(
        "--header", action="append", default=[], help="a further header that policies set"
    )
    parser.add_argument(
        "--cookie",
        action="append",
        default=[],
        help="for Traefik: a cookie that policies set, as signalbox_ticket_NAME of a session queue",
    )
    return parser


def _add_ticket_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--queue",
        action="append",
        default=[],
        help="a session queue whose tickets the proxy checks by itself (Envoy, HAProxy)",
    )
    parser.add_argument(
        "--ticket-key",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="--ticket-key of the agents, or its public half; repeatedly while keys change",
    )
    parser.add_argument(
        "--key-folder",
        default="/etc/haproxy",
        help="where HAProxy finds the files of keys [%(default)s]",
    )
