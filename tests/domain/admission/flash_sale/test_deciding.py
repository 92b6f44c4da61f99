from dataclasses import replace

import pytest

from controlplane.domain.admission.asking import Asked, Verdict
from controlplane.domain.admission.flash_sale.deciding import FlashSaleFacts, decide
from controlplane.domain.admission.flash_sale.policy import FlashSalePolicy
from controlplane.domain.routing.matching.request import Request

SALE = FlashSalePolicy(
    item="phone", stock=2, opens_at_s=100.0, ends_at_s=200.0, orders_url="http://shop/orders"
)
FORM = Asked(request=Request(path="/x/form"), now_s=100.0, user="ann")
ORDER = replace(FORM, request=Request(path="/x/order", method="POST"))
OPEN = FlashSaleFacts(opened=True)


@pytest.mark.parametrize(
    ("asked", "facts", "verdict", "reason", "status"),
    [
        (replace(FORM, now_s=99.0), FlashSaleFacts(), Verdict.REFUSE, "not_open", 404),
        (FORM, FlashSaleFacts(), Verdict.REFUSE, "not_open", 404),
        (FORM, OPEN, Verdict.ADMIT, "", 0),
        (ORDER, OPEN, Verdict.ADMIT, "", 0),
        (replace(FORM, user=""), OPEN, Verdict.REFUSE, "no_user", 401),
        (FORM, replace(OPEN, forms=10), Verdict.ANSWER, "forms_given_out", 410),
        (ORDER, replace(OPEN, forms=10), Verdict.ADMIT, "", 0),
        (ORDER, replace(OPEN, submitted=2), Verdict.ANSWER, "orders_submitted", 410),
        (ORDER, replace(OPEN, sold=2), Verdict.ANSWER, "sold_out", 410),
        (replace(FORM, now_s=200.0), OPEN, Verdict.ANSWER, "ended", 410),
    ],
)
def test_what_a_sale_says(
    asked: Asked, facts: FlashSaleFacts, verdict: Verdict, reason: str, status: int
) -> None:
    said = decide(SALE, asked, facts)
    assert (said.verdict, said.reason, said.status) == (verdict, reason, status)
