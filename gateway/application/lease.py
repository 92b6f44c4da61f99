"""An instance that an application uses for one request, and what became of it.

Made by the clients; given back when the block ends.
"""

from dataclasses import dataclass

import httpx

from controlplane.domain.instances.placement import Instance
from controlplane.domain.snapshot import ServiceEndpoints
from gateway.application.retry_account import Account
from gateway.application.tally import Outcome

# What a gateway counts against an endpoint; an application's own 500 says nothing about it.
GATEWAY_FAILURES = frozenset({502, 503, 504})
LEAST_ERROR = 500
FAILURES: tuple[type[Exception], ...] = (OSError, httpx.TransportError)


@dataclass(slots=True, kw_only=True)
class Lease:
    """One instance for one request.

    Attributes:
        timeout_s: for one try; total_s for all of them.
        outcome: `served` until something else is told.
        account: of the service's retries; None where these have no budget.
        has_erred: an answer that the service wants asked for again elsewhere.
    """

    instance: Instance
    service: ServiceEndpoints
    outcome: Outcome = Outcome.SERVED
    has_erred: bool = False
    account: Account | None = None

    @property
    def url(self) -> str:
        """`http://ADDRESS:PORT`."""
        return f"http://{self.instance.name}"

    @property
    def timeout_s(self) -> float:
        """For one try, as a gateway has it."""
        return self.service.retry.per_try_timeout_ms / 1_000

    @property
    def total_s(self) -> float:
        """For all tries together."""
        return self.service.timeout_ms / 1_000

    def answered(self, status: int) -> None:
        """The instance answered with this status; 502, 503 and 504 count against it."""
        self.outcome = Outcome.ERROR if status in GATEWAY_FAILURES else Outcome.SERVED
        self.has_erred = status >= LEAST_ERROR and self.service.retry.server_errors

    def raised(self, error: BaseException, failures: tuple[type[Exception], ...]) -> None:
        """An exception left the block; one that is no failure of the instance says nothing."""
        if not isinstance(error, failures):
            self.outcome = Outcome.ABANDONED
        elif "Timeout" in type(error).__name__:
            self.outcome = Outcome.TIMEOUT
        else:
            self.outcome = Outcome.ERROR
