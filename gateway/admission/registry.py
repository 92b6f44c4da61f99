"""Which kinds of policy this agent enforces: each registers with one line.

Read by `pipeline`. A kind that is not here is said in the log and counted, and lets everything
through: a gateway that is older than its control plane must go on.
"""

from collections.abc import Callable, Mapping

from controlplane.domain.admission.policy import Policy, PolicyKind
from gateway.admission.abnormal_traffic import AbnormalTraffic
from gateway.admission.adaptive_concurrency import AdaptiveConcurrency
from gateway.admission.circuit_breaker import CircuitBreaking
from gateway.admission.enforcing import Enforcer
from gateway.admission.flash_sale.enforcer import FlashSale
from gateway.admission.overload.protecting import Overload
from gateway.admission.priority_shedding import PriorityShedding
from gateway.admission.protection import Protection
from gateway.admission.rate_limit import RateLimiting
from gateway.admission.session_queue.queue import SessionQueue
from gateway.admission.surroundings import Surroundings

Maker = Callable[[Policy, Surroundings], Enforcer]

MAKERS: Mapping[PolicyKind, Maker] = {
    PolicyKind.PROTECTION: Protection,
    PolicyKind.ABNORMAL_TRAFFIC: AbnormalTraffic,
    PolicyKind.RATE_LIMIT: RateLimiting,
    PolicyKind.PRIORITY_SHEDDING: PriorityShedding,
    PolicyKind.CIRCUIT_BREAKER: CircuitBreaking,
    PolicyKind.ADAPTIVE_CONCURRENCY: AdaptiveConcurrency,
    PolicyKind.OVERLOAD: Overload,
    PolicyKind.FLASH_SALE: FlashSale,
    PolicyKind.SESSION_QUEUE: SessionQueue,
}
