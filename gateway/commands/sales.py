"""`python -m gateway sales`: the options of a node that serves flash sales."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from controlplane.domain.errors import Invalid
from gateway.last_good.polling import Source
from gateway.last_good.token_file import read_token
from gateway.options import place, require_loopback
from gateway.sale_agent import SaleAgentOptions
from gateway.state.redis.link import RedisOptions

EXAMPLE = """example:
  python -m gateway sales --api http://127.0.0.1:8080 --token-file token --group edge \\
      --folder /var/lib/signalbox-sales --redis redis://127.0.0.1:6379/0"""


def sales_options(arguments: Sequence[str]) -> SaleAgentOptions:
    """What was said on the command line.

    Raises:
        Invalid, Refused: it cannot be carried out.
    """
    given = _parser().parse_args(arguments)
    listen, status = place(given.listen), place(given.status)
    if not given.force_listen:
        require_loopback(listen)
        require_loopback(status)
    return SaleAgentOptions(
        policies=Source(
            urls=tuple(each.rstrip("/") for each in given.api),
            path="/v1/policies",
            token_file=given.token_file,
            parameters={"gateway": given.group},
        ),
        folder=given.folder,
        listen=listen,
        status=status,
        redis=_redis(given),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gateway sales",
        description="Serve the flash sales of the control plane, and the server's time.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--api", action="append", required=True, help="http://HOST:PORT of a control plane, or more"
    )
    parser.add_argument(
        "--token-file", type=Path, required=True, help="file with a token of the role gateway"
    )
    parser.add_argument("--group", required=True, help="its gateway group")
    parser.add_argument(
        "--folder", type=Path, required=True, help="last good policies and openings are kept here"
    )
    parser.add_argument(
        "--listen", default="127.0.0.1:18005", help="HOST:PORT where buyers come [%(default)s]"
    )
    parser.add_argument(
        "--status", default="127.0.0.1:18006", help="HOST:PORT of /metrics, /readyz [%(default)s]"
    )
    parser.add_argument("--force-listen", action="store_true", help="on other addresses too")
    parser.add_argument("--redis", metavar="URL", help="what several nodes share [memory]")
    parser.add_argument("--redis-password-file", type=Path)
    return parser


def _redis(given: argparse.Namespace) -> RedisOptions | None:
    if given.redis is None:
        return None
    if not given.redis.startswith(("redis://", "rediss://", "unix://")):
        raise Invalid("option_invalid", f"--redis is {given.redis!r}: give redis://HOST:PORT/0")
    path = given.redis_password_file
    return RedisOptions(url=given.redis, password="" if path is None else read_token(path))
