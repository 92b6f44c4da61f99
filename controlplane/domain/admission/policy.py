"""What is declared: a policy of one kind, how far it is enforced, and what it is attached to.

Read from the fleet, served in the snapshot's `admission` section, enforced by gateways. A kind is
added here with three lines: its name, its field and its rules.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controlplane.domain.admission import (
    adaptive_concurrency,
    circuit_breaker,
    priority_shedding,
    rate_limit,
)
from controlplane.domain.admission.abnormal_traffic import policy as abnormal_traffic
from controlplane.domain.admission.abnormal_traffic import scoring
from controlplane.domain.admission.abnormal_traffic.policy import AbnormalTrafficPolicy
from controlplane.domain.admission.adaptive_concurrency import AdaptiveConcurrencyPolicy
from controlplane.domain.admission.agent_door import WhenAway
from controlplane.domain.admission.asking import Asked, Decision
from controlplane.domain.admission.circuit_breaker import CircuitBreakerPolicy
from controlplane.domain.admission.flash_sale.deciding import FlashSaleFacts
from controlplane.domain.admission.flash_sale.deciding import decide as decide_flash_sale
from controlplane.domain.admission.flash_sale.policy import FlashSalePolicy, check_flash_sale
from controlplane.domain.admission.overload.deciding import OverloadFacts
from controlplane.domain.admission.overload.deciding import decide as decide_overload
from controlplane.domain.admission.overload.policy import OverloadPolicy, check_overload
from controlplane.domain.admission.priority_shedding import PrioritySheddingPolicy
from controlplane.domain.admission.protection import (
    ProtectionFacts,
    ProtectionPolicy,
    check_protection,
)
from controlplane.domain.admission.protection import decide as decide_protection
from controlplane.domain.admission.rate_limit import RateLimitPolicy
from controlplane.domain.admission.regional_overflow import choice as regional_choice
from controlplane.domain.admission.regional_overflow import policy as regional_overflow
from controlplane.domain.admission.regional_overflow.policy import RegionalOverflowPolicy
from controlplane.domain.admission.session_queue.policy import (
    SessionQueuePolicy,
    check_session_queue,
)
from controlplane.domain.admission.session_queue.standing import SessionQueueFacts
from controlplane.domain.admission.session_queue.standing import decide as decide_session_queue
from controlplane.domain.admission.session_queue.tickets import WAITING_SUFFIX
from controlplane.domain.errors import Invalid


class Mode(StrEnum):
    """How far a policy goes: `OBSERVE` decides, counts and logs, and lets everything through."""

    ENFORCE = "enforce"
    OBSERVE = "observe"
    OFF = "off"


class PolicyKind(StrEnum):
    """What a policy does, in the order in which kinds are asked.

    The whole order, of which some are still to come: protection, abnormal_traffic, rate_limit,
    priority_shedding, session_queue, flash_sale, overload, circuit_breaker, adaptive_concurrency,
    regional_overflow.
    """

    PROTECTION = "protection"
    ABNORMAL_TRAFFIC = "abnormal_traffic"
    RATE_LIMIT = "rate_limit"
    PRIORITY_SHEDDING = "priority_shedding"
    SESSION_QUEUE = "session_queue"
    FLASH_SALE = "flash_sale"
    OVERLOAD = "overload"
    CIRCUIT_BREAKER = "circuit_breaker"
    ADAPTIVE_CONCURRENCY = "adaptive_concurrency"
    REGIONAL_OVERFLOW = "regional_overflow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """Which requests a policy is asked about: all that are named under every list that is not
    empty; nothing named is everything.

    Attributes:
        routes: ids of routes.
        services: names of services, the upstreams of a gateway.
        regions: where requests come from.
    """

    routes: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()

    def covers(self, asked: Asked) -> bool:
        """Whether a request is one of these."""
        pairs = (
            (self.routes, asked.route),
            (self.services, asked.service),
            (self.regions, asked.region),
        )
        return all(not named or value in named for named, value in pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One policy: exactly one of the fields that have the name of a kind is set.

    Attributes:
        when_away: what becomes of its requests while nobody judges them, because the agent does not
            answer or its judgment fails; None leaves it to the gateway, and admits where it fails.
    """

    name: str
    mode: Mode = Mode.ENFORCE
    attachment: Attachment = Attachment()
    when_away: WhenAway | None = None
    protection: ProtectionPolicy | None = None
    abnormal_traffic: AbnormalTrafficPolicy | None = None
    rate_limit: RateLimitPolicy | None = None
    priority_shedding: PrioritySheddingPolicy | None = None
    session_queue: SessionQueuePolicy | None = None
    flash_sale: FlashSalePolicy | None = None
    overload: OverloadPolicy | None = None
    circuit_breaker: CircuitBreakerPolicy | None = None
    adaptive_concurrency: AdaptiveConcurrencyPolicy | None = None
    regional_overflow: RegionalOverflowPolicy | None = None

    @property
    def kind(self) -> PolicyKind:
        """Which field is set.

        Raises:
            Invalid: `policy_invalid`, none or several are.
        """
        given = [kind for kind in PolicyKind if getattr(self, kind) is not None]
        if len(given) != 1:
            raise Invalid(
                "policy_invalid",
                f"policy {self.name} has {len(given)} kinds ({', '.join(given) or 'none'}): "
                f"give exactly one of {', '.join(PolicyKind)}",
            )
        return given[0]

    @property
    def spec(self) -> Any:
        """What is declared under its kind; Invalid as `kind`."""
        return getattr(self, self.kind)

    @property
    def whole_services(self) -> tuple[str, ...]:
        """The services that it is enforced on as a whole, from everywhere and on all routes."""
        part = self.attachment.routes or self.attachment.regions
        return () if part or self.mode is not Mode.ENFORCE else self.attachment.services

    def covers(self, asked: Asked) -> bool:
        """Whether this is asked about a request.

        A sale is, on routes that it names only: without any it is served by processes of its own,
        and everywhere else there is no purchase, so it would answer a whole site with 404.
        """
        if self.flash_sale is not None and not self.attachment.routes:
            return False
        return self.attachment.covers(asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRules:
    """What everything that handles all kinds needs of one.

    Attributes:
        check: raises Invalid `policy_invalid` for a spec that cannot be carried out.
        facts: a frozen dataclass of what is known beside the request, every field with the value
            that it has at the start.
        decide: (spec, asked, facts) -> what the policy says; pure, for dry runs.
    """

    check: Callable[[Any], None]
    facts: type[Any]
    decide: Callable[[Any, Asked, Any], Decision]


KINDS: Mapping[PolicyKind, KindRules] = {
    PolicyKind.PROTECTION: KindRules(
        check=check_protection, facts=ProtectionFacts, decide=decide_protection
    ),
    PolicyKind.ABNORMAL_TRAFFIC: KindRules(
        check=abnormal_traffic.check_abnormal_traffic,
        facts=scoring.TrafficFacts,
        decide=scoring.decide,
    ),
    PolicyKind.RATE_LIMIT: KindRules(
        check=rate_limit.check_rate_limit, facts=rate_limit.RateFacts, decide=rate_limit.decide
    ),
    PolicyKind.PRIORITY_SHEDDING: KindRules(
        check=priority_shedding.check_priority_shedding,
        facts=priority_shedding.SheddingFacts,
        decide=priority_shedding.decide,
    ),
    PolicyKind.SESSION_QUEUE: KindRules(
        check=check_session_queue, facts=SessionQueueFacts, decide=decide_session_queue
    ),
    PolicyKind.FLASH_SALE: KindRules(
        check=check_flash_sale, facts=FlashSaleFacts, decide=decide_flash_sale
    ),
    PolicyKind.OVERLOAD: KindRules(
        check=check_overload, facts=OverloadFacts, decide=decide_overload
    ),
    PolicyKind.CIRCUIT_BREAKER: KindRules(
        check=circuit_breaker.check_circuit_breaker,
        facts=circuit_breaker.BreakerFacts,
        decide=circuit_breaker.decide,
    ),
    PolicyKind.ADAPTIVE_CONCURRENCY: KindRules(
        check=adaptive_concurrency.check_adaptive_concurrency,
        facts=adaptive_concurrency.ConcurrencyFacts,
        decide=adaptive_concurrency.decide,
    ),
    PolicyKind.REGIONAL_OVERFLOW: KindRules(
        check=regional_overflow.check_regional_overflow,
        facts=regional_choice.OverflowFacts,
        decide=regional_choice.decide,
    ),
}

_PLACE = {kind: place for place, kind in enumerate(PolicyKind)}


def check_policy(policy: Policy) -> None:
    """Raise Invalid `policy_invalid` when a policy cannot be carried out."""
    KINDS[policy.kind].check(policy.spec)
    if policy.kind is PolicyKind.SESSION_QUEUE and policy.name.endswith(WAITING_SUFFIX):
        raise Invalid(
            "policy_invalid",
            f"the name {policy.name} of a session queue ends in {WAITING_SUFFIX}, as tickets for "
            "waiting in another one: give another name",
        )


def in_order(policies: Iterable[Policy]) -> tuple[Policy, ...]:
    """Policies as they are asked: by kind, then by name."""
    return tuple(sorted(policies, key=lambda policy: (_PLACE[policy.kind], policy.name)))
