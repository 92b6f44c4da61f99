"""`python -m gateway xds-cache`: the options of the agent that keeps an Envoy's configuration."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from gateway.last_good.polling import Source
from gateway.options import AgentOptions, place, require_loopback


def cache_options(arguments: Sequence[str]) -> AgentOptions:
    """What was said on the command line.

    Raises:
        Invalid, Refused: it cannot be carried out.
    """
    given = _parser().parse_args(arguments)
    listen = place(given.listen)
    if not given.force_listen:
        require_loopback(listen)
    return AgentOptions(
        cache=given.xds_cache,
        control_plane=place(given.control_plane),
        listen=listen,
        node=given.node,
        group=given.group,
        token_file=given.token_file,
        routes=None if given.api is None else _routes(given),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gateway xds-cache",
        description="Keep the configuration of the Envoy beside it, and serve it while the control "
        "plane is away.",
        epilog="`python -m gateway route URL --cache FOLDER` asks the routes that it keeps.",
    )
    parser.add_argument(
        "--xds-cache", type=Path, help="folder of the last responses", required=True
    )
    parser.add_argument("--control-plane", help="HOST:PORT of its ADS", required=True)
    parser.add_argument("--listen", default="127.0.0.1:18001", help="HOST:PORT to serve on")
    parser.add_argument("--node", help="id of the Envoy beside it", required=True)
    parser.add_argument("--group", help="its gateway group", required=True)
    parser.add_argument("--token-file", type=Path, help="file with the token", required=True)
    parser.add_argument(
        "--api", help="http://HOST:PORT of its API: keep the group's routes, for `route`"
    )
    parser.add_argument(
        "--force-listen", action="store_true", help="listen on an address that is not loopback"
    )
    return parser


def _routes(given: argparse.Namespace) -> Source:
    # Without an identity: the Envoy beside it is who is shown with these routes in use.
    return Source(
        urls=(given.api.rstrip("/"),),
        path="/v1/routes",
        token_file=given.token_file,
        parameters={"gateway": given.group},
    )
