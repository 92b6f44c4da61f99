"""A running Caddy, through its admin API.

Made by `proxies`, driven by the engine's courier. Caddy takes a configuration as a whole or keeps
the one that it has. `POST /load` asks nobody who was faster, so we write to `/config/`, which
takes an `If-Match`.
"""

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import httpx
import structlog

from controlplane.adapters.caddy.matchers import whole, whole_value
from controlplane.adapters.caddy.render import CONFIGURATION, SERVER, mark
from controlplane.domain.errors import Rejected, Retryable
from controlplane.domain.findings import Observation
from controlplane.domain.routing.route import PathMatchType, Route, TextMatchType
from controlplane.domain.snapshot import Snapshot
from controlplane.ports.outside import Artifact, PlaneNode

log = structlog.get_logger()

NAME = "caddy"
CONFIG = "/config/"
MARK = f"{CONFIG}apps/http/servers/{SERVER}/@id"
MARKED = re.compile(r"signalbox:[0-9]+:\w+")
# A table of 10,000 rules compiles in some seconds.
TIMEOUT_S = 30.0
# Routes of one snapshot that are left out one after the other.
MOST_REFUSED = 20
Render = Callable[[Snapshot, Mapping[str, str]], Artifact]


class CaddyPlane:
    """Implements `ports.DataPlane`.

    Args:
        admin: `HOST:PORT` of its admin API.
    """

    def __init__(self, group: str, admin: str, render: Render) -> None:
        self._group = group
        self._admin = admin
        self._render = render
        self._one_at_a_time = asyncio.Lock()
        self._in_force: Artifact | None = None
        # Of what Caddy ran when it had taken our configuration.
        self._tag = ""
        self._refused: dict[str, tuple[Route, str]] = {}

    @property
    def name(self) -> str:
        """Short name in status, metrics and logs."""
        return NAME

    def render(self, snapshot: Snapshot) -> Artifact:
        """Compile a snapshot, without the routes that Caddy refused as they are now."""
        return self._render(snapshot, self._left_out(snapshot))

    def _left_out(self, snapshot: Snapshot) -> dict[str, str]:
        same = {route.id: route for route in snapshot.content.routes.routes}
        return {
            name: words for name, (route, words) in self._refused.items() if same.get(name) == route
        }

    async def apply(self, artifact: Artifact) -> None:
        """Give Caddy a configuration.

        Raises:
            Rejected: it is older than what Caddy runs, or is refused and no route explains it.
            Retryable: Caddy does not answer, or was given another configuration meanwhile.
        """
        async with self._one_at_a_time:
            await self._take(artifact)

    async def observe(self) -> list[PlaneNode]:
        """The one Caddy and what it runs."""
        try:
            runs = _ours((await self._ask("GET", MARK, b"", "")).content)
        except Retryable:
            runs = None
        revision = (runs or "").split(":")[1:2]
        return [
            PlaneNode(
                name=NAME,
                group=self._group,
                connected=runs is not None,
                revision=int(revision[0]) if revision else 0,
            )
        ]

    async def repair(self) -> tuple[Observation, ...]:
        """Have Caddy run what was applied, such as after a restart or a change by hand; what is
        not in force."""
        async with self._one_at_a_time:
            if self._in_force is None:
                return ()
            _, tag = await self._runs()
            if tag != self._tag:
                await self._take(self._in_force)
            return self._in_force.notes

    async def _take(self, artifact: Artifact) -> None:
        self._in_force = await self._put(artifact)
        _, self._tag = await self._runs()

    async def _put(self, artifact: Artifact) -> Artifact:
        """Have it taken, without the routes that Caddy refuses; what was taken."""
        words = ""
        for _ in range(MOST_REFUSED + 1):
            runs, tag = await self._runs()
            _fence(artifact, runs)
            found = await self._offer(dict(artifact.parts)[CONFIGURATION], tag)
            if found is None:
                return artifact
            words = found
            left_out = self._left_out(artifact.snapshot)
            routes = artifact.snapshot.content.routes.routes
            route = _culprit(words, (r for r in routes if r.id not in left_out))
            if route is None:
                break
            log.warning("plane.route_left_out", plane=NAME, route=route.id, reason=words)
            self._refused[route.id] = (route, words)
            artifact = await asyncio.to_thread(self.render, artifact.snapshot)
        raise Rejected(
            "plane_refuses",
            f"{NAME} refuses the configuration, and no route explains it: {words}",
            {"words": words},
        )

    async def _runs(self) -> tuple[str, str]:
        """Mark of what Caddy runs, "" when that is not ours, and the tag of it."""
        # The tag first: what comes between the two makes it old, and is not overwritten.
        everything = await self._ask("GET", CONFIG, b"", "")
        runs = _ours((await self._ask("GET", MARK, b"", "")).content)
        return runs, everything.headers.get("etag", "")

    async def _offer(self, configuration: bytes, tag: str) -> str | None:
        """Caddy's words when it refuses a configuration, None when it runs it."""
        answer = await self._ask("POST", CONFIG, configuration, tag)
        if answer.is_success:
            return None
        if answer.status_code == httpx.codes.PRECONDITION_FAILED:
            raise Retryable(
                "caddy_changed", f"the Caddy at {self._admin} was given another configuration"
            )
        try:
            return str(json.loads(answer.content)["error"])
        except (ValueError, KeyError, TypeError):
            return f"status {answer.status_code}"

    async def _ask(self, method: str, path: str, content: bytes, tag: str) -> httpx.Response:
        headers = {"content-type": "application/json", "if-match": tag} if content else {}
        try:
            async with httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=False) as client:
                return await client.request(
                    method,
                    f"http://{self._admin}{path}",
                    content=content,
                    headers=headers,
                )
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            words = str(error) or type(error).__name__
            raise Retryable(
                "caddy_away",
                f"the admin API at {self._admin} does not answer: {words}",
            ) from error


def _ours(answer: bytes) -> str:
    """The mark in an answer; "" where there is none of ours."""
    try:
        found: Any = json.loads(answer)
    except ValueError:
        return ""
    return found if isinstance(found, str) and MARKED.fullmatch(found) else ""


def _fence(artifact: Artifact, runs: str) -> None:
    """A second writer may have been faster, also one before the last start."""
    parts = runs.split(":")
    newest = int(parts[1]) if len(parts) > 1 else 0
    if artifact.revision > newest or mark(artifact.revision, artifact.version) == runs:
        return
    raise Rejected(
        "revision_not_newer",
        f"revision {artifact.revision} ({artifact.version[:12]}) is not newer than revision "
        f"{newest} ({parts[2][:12]}), which {NAME} has; another writer was faster, build on the "
        "newest snapshot",
        {"offered": artifact.revision, "in_force": newest},
    )


def _culprit(words: str, routes: Iterable[Route]) -> Route | None:
    """The route one of whose expressions, as we have written it, Caddy names."""
    for route in routes:
        if any(expression in words for expression in _expressions(route)):
            return route
    return None


def _expressions(route: Route) -> Iterator[str]:
    if route.path.type is PathMatchType.REGULAR_EXPRESSION:
        yield whole(route.path.value)
    for condition in route.conditions:
        if condition.type is TextMatchType.REGULAR_EXPRESSION:
            yield whole_value(condition.value)
