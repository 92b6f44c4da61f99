"""A request gets its route, and the policies are asked about it. Used by forward-auth.

The route table and the policies are put in force by the agent whenever new ones come.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from controlplane.domain.admission.asking import Asked, Decision, Verdict
from controlplane.domain.routing.matching.request import STICKY_COOKIE, Request
from controlplane.domain.routing.matching.table import Table
from gateway.admission.enforcing import Ruling
from gateway.admission.pipeline import Pipeline

NOT_CONFIGURED = Ruling(
    decision=Decision(verdict=Verdict.REFUSE, reason="agent_not_configured", status=503)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """How requests are read.

    Attributes:
        region: where they come from; "" is unknown.
        user: `cookie:NAME` or `header:NAME`, what says who sends a request.
        budget_s: time that all policies have together.
        refuses_without_policies: before the first policies have come, everything is refused.
    """

    region: str = ""
    user: str = f"cookie:{STICKY_COOKIE}"
    budget_s: float | None = 0.015
    refuses_without_policies: bool = False


class Judge:
    """What becomes of requests."""

    def __init__(self, pipeline: Pipeline, known: Known, now_s: Callable[[], float]) -> None:
        self._pipeline = pipeline
        self._known = known
        self._now_s = now_s
        self._table: Table | None = None
        self.configured = False

    async def take_routes(self, table: Table) -> None:
        """Put a route table in force."""
        self._table = table

    @property
    def told(self) -> frozenset[str]:
        """Headers that policies set for services; nobody else's word under these counts."""
        return self._pipeline.told

    async def rule(self, request: Request) -> Ruling:
        """What the policies say of a request; never fails."""
        request = without(request, self.told)
        if not self.configured and self._known.refuses_without_policies:
            return NOT_CONFIGURED
        return await self._pipeline.rule(self._asked(request), self._known.budget_s)

    async def rule_asked(self, asked: Asked) -> Ruling:
        """As `rule`, for who knows route and service already, and has time: a request that waits
        in the agent's own proxy holds nobody else up.
        """
        if not self.configured and self._known.refuses_without_policies:
            return NOT_CONFIGURED
        user = user_of(asked.request, self._known.user)
        return await self._pipeline.rule(replace(asked, user=user), None)

    def _asked(self, request: Request) -> Asked:
        now_s = self._now_s()
        route = None if self._table is None else self._table.match(request, now_s).route
        return Asked(
            request=request,
            now_s=now_s,
            route="" if route is None else route.id,
            service="" if route is None else route.service,
            region=self._known.region,
            user=user_of(request, self._known.user),
            followed=False,
        )


def without(request: Request, names: frozenset[str]) -> Request:
    """The request without headers of these names, which are in lower case."""
    if names.isdisjoint(request.headers):
        return request
    kept = {name: value for name, value in request.headers.items() if name not in names}
    return replace(request, headers=kept)


def user_of(request: Request, says: str) -> str:
    """Who sends a request, by `cookie:NAME` or `header:NAME`; "" is unknown."""
    kind, _, name = says.partition(":")
    if kind == "header":
        return request.headers.get(name.lower(), "")
    # Reading cookies costs more than everything else here.
    return request.cookies.get(name, "") if "cookie" in request.headers else ""
