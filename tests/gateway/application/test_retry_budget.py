"""A budget bounds the retries of all requests of a service together."""

from dataclasses import replace

import pytest

from controlplane.domain.instances.placement import Instance
from controlplane.domain.services import HealthCheck, LoadBalancing, RetryPolicy
from controlplane.domain.snapshot import ServiceEndpoints
from gateway.application.lease import Lease
from gateway.application.retry_account import RESERVE, Account
from gateway.application.retrying import Tries
from gateway.application.tally import Outcome

SERVICE = ServiceEndpoints(
    service="shop",
    load_balancing=LoadBalancing.ROUND_ROBIN,
    health_check=HealthCheck(),
    retry=RetryPolicy(budget=0.2),
    timeout_ms=1_000,
    centers=(),
)
ONE = Instance(address="127.0.0.1", port=1, datacenter="dc", cluster="")


def attempts(account: Account | None, requests: int) -> int:
    """Attempts of requests that all fail."""
    made = 0
    for _ in range(requests):
        if account is not None:
            account.put(0.2)
        tries = Tries(key="", version="*", began_s=0.0)
        again = True
        while again:
            made += 1
            lease = Lease(instance=ONE, service=SERVICE, account=account, outcome=Outcome.ERROR)
            again = tries.again(lease, 0.1)
    return made


def test_a_service_that_fails_everywhere_gets_its_requests_and_the_budget() -> None:
    assert 1.19 * 1_000 < attempts(Account(), 1_000) <= 1.2 * 1_000
    assert attempts(None, 1_000) == 13 * 1_000


def test_a_retry_that_is_not_wanted_takes_nothing() -> None:
    account = Account(left=2.0)
    tries = Tries(key="", version="*", began_s=0.0)
    served = Lease(instance=ONE, service=SERVICE, account=account)
    assert not tries.again(served, 0.1)
    late = replace(served, outcome=Outcome.ERROR)
    assert not tries.again(late, 2.0)
    assert account.left == 2.0


@pytest.mark.parametrize("share", [0.2, 5.0])
def test_an_account_holds_a_few_retries_at_most(share: float) -> None:
    account = Account()
    for _ in range(100):
        account.put(share)
    assert account.left == RESERVE
