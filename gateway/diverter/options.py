"""What the diverter is told at its start: `python -m gateway divert`."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gateway.last_good.polling import Source
from gateway.options import Place, place, polled, require_loopback

EXAMPLE = """example:
  python -m gateway divert --service stations --listen 0.0.0.0:7000 \\
      --api http://127.0.0.1:8080 --token-file token --group edge --folder /var/lib/diverter"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiverterOptions:
    """One diverter.

    Attributes:
        service: whose endpoints the regional servers are.
        listen: where stations connect; backlog: connections that may wait to be taken.
        loads: where servers tell the use of their pools; status: `/metrics` and the like.
        configuration, policies: where they are polled; None goes by what is on disk.
    """

    service: str
    group: str
    folder: Path
    listen: Place
    loads: Place
    status: Place
    configuration: Source | None = None
    policies: Source | None = None
    backlog: int = 4_096


def diverter_options(arguments: Sequence[str]) -> DiverterOptions:
    """What was said on the command line.

    Raises:
        Invalid, Refused: it cannot be carried out.
    """
    given = _parser().parse_args(arguments)
    loads, status = place(given.loads), place(given.status)
    if not given.force_listen:
        require_loopback(loads)
        require_loopback(status)
    return DiverterOptions(
        service=given.service,
        group=given.group,
        folder=given.folder,
        listen=place(given.listen),
        loads=loads,
        status=status,
        configuration=polled(given, "/v1/config"),
        policies=polled(given, "/v1/policies"),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gateway divert",
        description="Give each station's connection to its region's server, or to another one "
        "when that is too busy or dead (policies of the kind regional_overflow).",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--service", required=True, help="whose endpoints the servers are")
    parser.add_argument("--listen", required=True, help="HOST:PORT where stations connect")
    parser.add_argument("--api", action="append", help="http://HOST:PORT of a control plane")
    parser.add_argument("--token-file", type=Path, help="file with a token of the role gateway")
    parser.add_argument("--group", required=True, help="its gateway group")
    parser.add_argument(
        "--folder", type=Path, required=True, help="what was last good is kept here"
    )
    parser.add_argument(
        "--loads", default="127.0.0.1:18008", help="HOST:PORT of POST /v1/load [%(default)s]"
    )
    parser.add_argument(
        "--status", default="127.0.0.1:18007", help="HOST:PORT of /metrics, /readyz [%(default)s]"
    )
    parser.add_argument(
        "--force-listen", action="store_true", help="--loads and --status on other addresses too"
    )
    return parser
