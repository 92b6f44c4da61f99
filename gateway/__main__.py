"""`python -m gateway`: the agents, until SIGTERM or Ctrl-C.

Exit codes: 0 after a signal or an answer, 1 when a port or the cache cannot be used, 2 for a wrong
option. Each command imports what it needs: an agent that keeps a configuration needs no HTTP
server, and one that judges requests no gRPC.
"""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

import structlog

from controlplane.domain.errors import ControlPlaneError, Invalid, Refused

EXIT_FAILED, EXIT_WRONG_OPTION = 1, 2
COMMANDS = """usage: python -m gateway COMMAND [OPTIONS]

The gateway agent: what runs beside a proxy.

commands:
  run        enforce admission policies for Envoy, nginx, Traefik, Caddy or HAProxy
  divert     give stations' connections to the servers of their regions
  sales      serve flash sales and the server's time, in a process of their own
  wiring     print how a proxy is told to ask it
  xds-cache  keep an Envoy's configuration for when the control plane is away
  route URL  say which route a request gets, from what the agent keeps

`python -m gateway COMMAND --help` lists the options of each. Options without a command are those of
xds-cache."""


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
        return _command(sys.argv[1:])
    except (Invalid, Refused) as error:
        print(f"gateway: {error}", file=sys.stderr)
        return EXIT_WRONG_OPTION
    except (ControlPlaneError, OSError) as error:
        print(f"gateway: {error}", file=sys.stderr)
        return EXIT_FAILED


def _command(arguments: Sequence[str]) -> int:
    command, *rest = arguments or ("",)
    if command in ("", "-h", "--help"):
        print(COMMANDS, file=sys.stdout if command else sys.stderr)
        return 0 if command else EXIT_WRONG_OPTION
    if command.startswith("-"):
        command, rest = "xds-cache", [*arguments]
    if command not in CARRIED_OUT:
        raise Invalid("option_invalid", f"there is no command {command!r}\n\n{COMMANDS}")
    CARRIED_OUT[command](rest)
    return 0


def _run(arguments: Sequence[str]) -> None:
    import uvloop

    from gateway.admission_agent import AdmissionAgent
    from gateway.commands.run import run_options

    # Its loop answers twice as many requests as the usual one.
    uvloop.run(_until_signal(AdmissionAgent(run_options(arguments)).run()))


def _divert(arguments: Sequence[str]) -> None:
    import uvloop

    from gateway.diverter.diverter import Diverter
    from gateway.diverter.options import diverter_options

    uvloop.run(_until_signal(Diverter(diverter_options(arguments)).run()))


def _sales(arguments: Sequence[str]) -> None:
    import uvloop

    from gateway.commands.sales import sales_options
    from gateway.sale_agent import SaleAgent

    uvloop.run(_until_signal(SaleAgent(sales_options(arguments)).run()))


def _wiring(arguments: Sequence[str]) -> None:
    from gateway.commands.wiring import wiring

    print(wiring(arguments), end="")


def _cache(arguments: Sequence[str]) -> None:
    from gateway.commands.cache import cache_options
    from gateway.xds_cache.agent import Agent

    asyncio.run(_until_signal(Agent(cache_options(arguments)).run()))


def _route(arguments: Sequence[str]) -> None:
    from gateway.commands.route import route

    print(route(arguments))


CARRIED_OUT: Mapping[str, Callable[[Sequence[str]], None]] = {
    "run": _run,
    "divert": _divert,
    "sales": _sales,
    "wiring": _wiring,
    "xds-cache": _cache,
    "route": _route,
}


async def _until_signal(work: Coroutine[Any, Any, None]) -> None:
    loop = asyncio.get_running_loop()
    running = asyncio.create_task(work)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, running.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await running


if __name__ == "__main__":
    sys.exit(main())
