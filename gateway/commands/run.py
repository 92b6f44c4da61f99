"""`python -m gateway run`: the options of an agent that enforces policies."""

import argparse
import ipaddress
import re
import socket
from collections.abc import Sequence
from pathlib import Path

from controlplane.domain.admission.session_queue.tickets import audiences
from controlplane.domain.errors import Invalid
from controlplane.domain.routing.matching.request import STICKY_COOKIE
from gateway.admission.judging import Known
from gateway.admission.session_queue.signing import Signer
from gateway.admission_options import AdmissionOptions
from gateway.forward_auth.door import LOOPBACK, DoorOptions
from gateway.last_good.polling import Source
from gateway.last_good.token_file import read_token
from gateway.options import place, polled, require_loopback
from gateway.proxy.options import ProxyOptions
from gateway.proxy_door import ProxyDoorOptions
from gateway.state.redis.link import RedisOptions

MOST_BUDGET_MS = 1_000.0
# As the control plane takes it.
NAME = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
EXAMPLE = """example:
  python -m gateway run --api http://127.0.0.1:8080 --token-file token --group edge \\
      --folder /var/lib/signalbox-gateway --redis redis://127.0.0.1:6379/0
  python -m gateway wiring --plane nginx     how a proxy is told to ask it"""


def run_options(arguments: Sequence[str]) -> AdmissionOptions:
    """What was said on the command line.

    Raises:
        Invalid, Refused: it cannot be carried out.
    """
    given = _parser().parse_args(arguments)
    listen = place(given.forward_auth)
    status = place(given.status)
    if not given.force_listen:
        require_loopback(listen)
        require_loopback(status)
    return AdmissionOptions(
        name=_name(given),
        group=given.group,
        folder=given.folder,
        policies=_source(given, "/v1/policies"),
        routes=_source(given, "/v1/routes"),
        door=DoorOptions(host=listen[0], port=listen[1], trusted=_networks(given.trust)),
        proxy=_proxy(given),
        status=status,
        redis=_redis(given),
        ticket_key=_ticket_key(given),
        known=Known(
            region=given.region,
            user=_user(given.user),
            budget_s=_budget_s(given.budget_ms),
            refuses_without_policies=given.refuse_without_policies,
        ),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gateway run",
        description="Enforce the control plane's admission policies beside a proxy.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _configuration(parser.add_argument_group("configuration"))
    doors = parser.add_argument_group("where it listens (loopback only, unless forced)")
    doors.add_argument(
        "--forward-auth", default="127.0.0.1:18003", help="HOST:PORT that proxies ask [%(default)s]"
    )
    doors.add_argument(
        "--proxy", metavar="HOST:PORT", help="be a proxy oneself, for clients on any address"
    )
    doors.add_argument(
        "--most-body-bytes",
        type=int,
        default=ProxyOptions().most_body_bytes,
        help="of a request through --proxy [%(default)s]",
    )
    doors.add_argument(
        "--status", default="127.0.0.1:18002", help="HOST:PORT of /metrics, /readyz [%(default)s]"
    )
    doors.add_argument("--force-listen", action="store_true", help="on other addresses too")
    doors.add_argument(
        "--trust",
        action="append",
        metavar="CIDR",
        help="proxies whose X-Forwarded-For is believed, repeatedly [loopback]",
    )
    _deciding(parser.add_argument_group("deciding"))
    return parser


def _configuration(group: "argparse._ArgumentGroup") -> None:
    group.add_argument(
        "--api",
        action="append",
        help="http://HOST:PORT of a control plane, repeatedly; "
        "without it the agent goes by what is in the folder",
    )
    group.add_argument("--token-file", type=Path, help="file with a token of the role gateway")
    group.add_argument("--group", required=True, help="its gateway group")
    group.add_argument(
        "--folder", type=Path, required=True, help="last good policies and routes are kept here"
    )
    group.add_argument("--name", help="of this agent [the machine's name]")


def _deciding(group: "argparse._ArgumentGroup") -> None:
    group.add_argument("--redis", metavar="URL", help="state that several agents share [memory]")
    group.add_argument("--redis-password-file", type=Path)
    group.add_argument(
        "--ticket-key",
        type=Path,
        metavar="FILE",
        help="private key (PEM, P-256) of session queues' tickets, the same for all agents "
        "[one that is kept in the shared state]",
    )
    group.add_argument(
        "--redis-deadline-ms", type=float, default=10.0, help="of each call [%(default)g]"
    )
    group.add_argument(
        "--budget-ms",
        type=float,
        default=15.0,
        help="all policies together answer within this, or fall back [%(default)g]",
    )
    group.add_argument("--region", default="", help="where its requests come from")
    group.add_argument(
        "--user",
        default=f"cookie:{STICKY_COOKIE}",
        help="cookie:NAME or header:NAME that says who sends a request [%(default)s]",
    )
    group.add_argument(
        "--refuse-without-policies",
        action="store_true",
        help="until the first policies have come; without it everything is let on",
    )


def _proxy(given: argparse.Namespace) -> ProxyDoorOptions | None:
    if given.proxy is None:
        return None
    return ProxyDoorOptions(
        listen=place(given.proxy),
        name=_name(given),
        group=given.group,
        folder=given.folder,
        source=_source(given, "/v1/config"),
        region=given.region,
        proxy=ProxyOptions(trusted=_networks(given.trust), most_body_bytes=given.most_body_bytes),
    )


def _name(given: argparse.Namespace) -> str:
    """Of this agent, as it tells the control plane."""
    name: str = given.name or socket.gethostname()
    if NAME.fullmatch(name) is None:
        raise Invalid("option_invalid", f"--name is {name!r}: give 1..64 of A-Z a-z 0-9 . _ -")
    return name


def _source(given: argparse.Namespace, path: str) -> Source | None:
    # Without a control plane nobody hears its name.
    return polled(given, path, f"{_name(given)};{given.group}" if given.api else "")


def _ticket_key(given: argparse.Namespace) -> bytes:
    if given.ticket_key is None:
        return b""
    try:
        private: bytes = given.ticket_key.read_bytes()
    except OSError as error:
        raise Invalid("option_invalid", f"--ticket-key cannot be read: {error}") from error
    Signer(private, audiences(""))
    return private


def _redis(given: argparse.Namespace) -> RedisOptions | None:
    if given.redis is None:
        return None
    if not given.redis.startswith(("redis://", "rediss://", "unix://")):
        raise Invalid("option_invalid", f"--redis is {given.redis!r}: give redis://HOST:PORT/0")
    if not 0 < given.redis_deadline_ms <= MOST_BUDGET_MS:
        raise Invalid("option_invalid", f"--redis-deadline-ms: give up to {MOST_BUDGET_MS:g}")
    path = given.redis_password_file
    return RedisOptions(
        url=given.redis,
        password="" if path is None else read_token(path),
        deadline_s=given.redis_deadline_ms / 1_000,
    )


def _networks(given: Sequence[str] | None) -> tuple[str, ...]:
    networks = LOOPBACK if given is None else tuple(given)
    for each in networks:
        try:
            ipaddress.ip_network(each)
        except ValueError as error:
            raise Invalid("option_invalid", f"--trust {each!r}: give 10.0.0.0/8") from error
    return networks


def _user(text: str) -> str:
    kind, _, name = text.partition(":")
    if kind not in ("cookie", "header") or not name:
        raise Invalid("option_invalid", f"--user {text!r}: give cookie:NAME or header:NAME")
    return text


def _budget_s(budget_ms: float) -> float:
    if not 0 < budget_ms <= MOST_BUDGET_MS:
        raise Invalid("option_invalid", f"--budget-ms {budget_ms:g}: give up to {MOST_BUDGET_MS:g}")
    return budget_ms / 1_000
