"""When a request that may be repeated is tried again, elsewhere. Pure; asked by the clients."""

from dataclasses import dataclass, field

from controlplane.domain.instances.placement import Instance
from gateway.application.lease import Lease
from gateway.application.rotation import Wish
from gateway.application.tally import Outcome

FAILED = frozenset({Outcome.ERROR, Outcome.TIMEOUT})


@dataclass(slots=True, kw_only=True)
class Tries:
    """The tries of one request: how often and how long are the service's, as on gateways."""

    key: str
    version: str
    began_s: float
    tried: list[Instance] = field(default_factory=list)

    @property
    def wish(self) -> Wish:
        """What the next try asks for."""
        return Wish(key=self.key, version=self.version, tried=tuple(self.tried))

    def again(self, lease: Lease, now_s: float) -> bool:
        """Whether to try again after this one."""
        self.tried.append(lease.instance)
        in_time = now_s - self.began_s < lease.total_s
        has_failed = lease.outcome in FAILED or lease.has_erred
        within = in_time and len(self.tried) <= lease.service.retry.attempts
        return has_failed and within and (lease.account is None or lease.account.take())
