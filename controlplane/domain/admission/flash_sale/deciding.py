"""What a sale says of one request, for dry runs; a gateway has its own counts for the same."""

from dataclasses import dataclass

from controlplane.domain.admission.asking import ADMITTED, Asked, Decision, Verdict
from controlplane.domain.admission.flash_sale.life import Phase, Standing, phase
from controlplane.domain.admission.flash_sale.policy import FlashSalePolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class FlashSaleFacts:
    """What is known beside the request.

    Attributes:
        opened: the control plane has made the purchase token.
        sold: items that are gone.
        submitted: orders that were let through.
        forms: that this node has given out.
    """

    opened: bool = False
    sold: int = 0
    submitted: int = 0
    forms: int = 0


def decide(policy: FlashSalePolicy, asked: Asked, facts: FlashSaleFacts) -> Decision:
    """A form for GET and HEAD, an order for all other methods."""
    at = phase(policy, Standing(opened=facts.opened, sold=facts.sold), asked.now_s)
    if at in (Phase.SCHEDULED, Phase.WAITING):
        # The same as for any address that is not there.
        left_s = policy.opens_at_s - asked.now_s if at is Phase.SCHEDULED else None
        return _refused("not_open", 404, phase=at.value, opens_in_s=left_s)
    if at is not Phase.OPEN:
        return _ended(at.value, sold=facts.sold, stock=policy.stock)
    if not asked.user:
        return _refused("no_user", 401, cookie=policy.user_cookie)
    if asked.request.method in ("GET", "HEAD"):
        if facts.forms >= policy.forms_per_node:
            return _ended("forms_given_out", forms=facts.forms, limit=policy.forms_per_node)
    elif facts.submitted >= policy.stock:
        return _ended("orders_submitted", submitted=facts.submitted, stock=policy.stock)
    return ADMITTED


def _refused(reason: str, status: int, **details: object) -> Decision:
    return Decision(verdict=Verdict.REFUSE, reason=reason, status=status, details=details)


def _ended(reason: str, **details: object) -> Decision:
    return Decision(verdict=Verdict.ANSWER, reason=reason, status=410, details=details)
