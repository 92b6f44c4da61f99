"""A service's whole answer to a request that is nobody's own, for policies that keep answers."""

import secrets
from dataclasses import replace

from controlplane.domain.admission.asking import Asked
from controlplane.domain.errors import ControlPlaneError, Retryable
from controlplane.domain.routing.matching.request import REQUEST_ID, Request
from controlplane.domain.routing.matching.table import Table
from controlplane.domain.routing.route import Route
from gateway.admission.enforcing import Answer
from gateway.application.rotation import Wish
from gateway.application.session import Session
from gateway.proxy.actions import Forward, action, changed_lines
from gateway.proxy.forwarding import FAILURES
from gateway.proxy.relaying import whole
from gateway.proxy.upstreams import Upstreams, headers_of

# Longer answers are a failure: they are held in memory whole.
MOST_BYTES = 67_108_864
LEAST_FAILURE = 500


class Fetcher:
    """Asks instances for policies. Nothing is repeated; how long it may take is the caller's."""

    def __init__(self, session: Session, upstreams: Upstreams) -> None:
        self._session = session
        self._upstreams = upstreams
        self._table: Table | None = None
        self._routes: dict[str, Route] = {}

    async def fetch(self, asked: Asked) -> Answer:
        """The answer of the service that a request's route gives it to.

        Raises:
            Retryable: `upstream_failed`: there is none, or one of status 500 or above.
        """
        does = action(self._route(asked.route), _with_headers(asked.request))
        if not isinstance(does, Forward):
            raise Retryable("upstream_failed", f"route {asked.route} gives it to no service")
        try:
            return await self._asked(does)
        except FAILURES as error:
            why = f"service {does.service}: {type(error).__name__} {error}"
            raise Retryable("upstream_failed", why) from error
        except Retryable:
            raise
        except ControlPlaneError as error:
            raise Retryable("upstream_failed", error.message) from error

    async def _asked(self, does: Forward) -> Answer:
        with self._session.instance(does.service, Wish(version=does.version)) as lease:
            async with self._upstreams.asked(lease, does.request, None) as upstream:
                lease.answered(upstream.status)
                if upstream.status >= LEAST_FAILURE:
                    raise Retryable(
                        "upstream_failed", f"service {does.service} answered {upstream.status}"
                    )
                body = await whole(upstream, MOST_BYTES)
                if body is None:
                    raise Retryable("upstream_failed", f"{does.service} answered too much")
                lines = changed_lines(headers_of(upstream), does.response_headers)
                return Answer(status=upstream.status, headers=lines, body=body)

    def _route(self, route_id: str) -> Route | None:
        table = self._session.directory.table
        if table is not self._table:
            self._table = table
            rules = (rule for host in table.hosts.values() for rule in host.rules())
            self._routes = {rule.route.id: rule.route for rule in rules}
        return self._routes.get(route_id)


def _with_headers(request: Request) -> Request:
    """A request for everybody: plain bodies, as who keeps them gives them to everybody."""
    headers = {
        "host": request.host,
        "accept": "*/*",
        "accept-encoding": "identity",
        "x-forwarded-host": request.host,
        "x-forwarded-proto": "http",
        REQUEST_ID: secrets.token_hex(16),
    }
    return replace(request, headers=headers)
