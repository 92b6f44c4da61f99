"""`python -m gateway`: run the agent beside an Envoy until SIGTERM or Ctrl-C.

`python -m gateway route URL` asks the routes that it has kept. Exit codes: 0 after a signal or an
answer, 1 when the port or the cache cannot be used, 2 for a wrong option.
"""

import argparse
import asyncio
import contextlib
import signal
import sys
from pathlib import Path

import structlog

from controlplane.domain.errors import ControlPlaneError, Invalid, Refused
from gateway.agent import Agent
from gateway.options import AgentOptions, place, require_loopback
from gateway.polling import Source
from gateway.route_command import route

EXIT_FAILED, EXIT_WRONG_OPTION = 1, 2


def main() -> int:
    """Read the options, run, return the exit code."""
    structlog.configure(
        processors=[
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.add_log_level,
            structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"]),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    try:
        if sys.argv[1:2] == ["route"]:
            print(route(sys.argv[2:]))
            return 0
        options = _options(_parser().parse_args())
        asyncio.run(_until_signal(Agent(options)))
    except (Invalid, Refused) as error:
        print(f"gateway: {error}", file=sys.stderr)
        return EXIT_WRONG_OPTION
    except (ControlPlaneError, OSError) as error:
        print(f"gateway: {error}", file=sys.stderr)
        return EXIT_FAILED
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gateway",
        description="The gateway agent.",
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


def _options(given: argparse.Namespace) -> AgentOptions:
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


def _routes(given: argparse.Namespace) -> Source:
    # Without an identity: the Envoy beside it is who is shown with these routes in use.
    return Source(
        urls=(given.api.rstrip("/"),),
        path="/v1/routes",
        token_file=given.token_file,
        parameters={"gateway": given.group},
    )


async def _until_signal(agent: Agent) -> None:
    loop = asyncio.get_running_loop()
    running = asyncio.create_task(agent.run())
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, running.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await running


if __name__ == "__main__":
    sys.exit(main())
