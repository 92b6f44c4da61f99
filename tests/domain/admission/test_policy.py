"""What a policy is attached to."""

import pytest

from controlplane.domain.admission.asking import Asked
from controlplane.domain.admission.policy import Attachment
from controlplane.domain.routing.matching.request import Request

SEATS = Asked(
    request=Request(path="/seats"), now_s=0.0, route="seats", service="chain", region="north"
)


@pytest.mark.parametrize(
    ("attachment", "covers"),
    [
        (Attachment(), True),
        (Attachment(routes=("maps", "seats")), True),
        (Attachment(services=("chain",), regions=("north",)), True),
        (Attachment(routes=("maps",)), False),
        (Attachment(services=("chain",), regions=("south",)), False),
    ],
)
def test_all_lists_that_name_something_must_name_it(attachment: Attachment, covers: bool) -> None:
    assert attachment.covers(SEATS) is covers
