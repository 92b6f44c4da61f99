"""`python -m gateway route URL`: a routing question, answered from what the agent has kept.

No control plane is asked. The decision is the one that the gateways of the group would take now.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from controlplane.domain.errors import Invalid
from gateway.last_good.route_file import RouteFile
from gateway.routing import Answer, Question, answer


def route(arguments: Sequence[str]) -> str:
    """What to print.

    Raises:
        Invalid: the URL or a header is none, or no routes are kept.
    """
    given = _parser().parse_args(arguments)
    question = Question(
        url=given.url,
        method=given.method,
        headers=tuple(_header(text) for text in given.header),
        source=given.source,
    )
    found = answer(RouteFile(given.cache).table(), question, time.time())
    return json.dumps(asdict(found)) if given.json else _sentence(found)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gateway route", description="Which route a request gets here."
    )
    parser.add_argument("url", help="https://HOST/PATH?QUERY, or the path alone")
    parser.add_argument("--cache", type=Path, required=True, help="the agent's --xds-cache")
    parser.add_argument("--method", default="GET")
    parser.add_argument("--header", action="append", default=[], help="NAME: VALUE, repeatedly")
    parser.add_argument("--source", default="", help="address of the caller")
    parser.add_argument("--json", action="store_true", help="as one line of JSON")
    return parser


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise Invalid("header_invalid", f"--header is {text[:80]!r}; write NAME: VALUE")
    return name.strip(), value.strip()


def _sentence(found: Answer) -> str:
    if found.service:
        version = "" if found.version == "*" else f" version {found.version}"
        return f"route {found.route}: service {found.service}{version} ({found.reason})"
    where = f" to {found.location}" if found.location else ""
    named = f"route {found.route}: " if found.route else ""
    return f"{named}answered with {found.status}{where} ({found.reason})"
