import dataclasses

import pytest

from controlplane.domain.admission.flash_sale.life import (
    Correction,
    Opening,
    Phase,
    Standing,
    changed_fields,
    may_open,
    phase,
    require_editable,
    require_known,
    require_review,
    text_of,
)
from controlplane.domain.admission.flash_sale.policy import FlashSalePolicy
from controlplane.domain.errors import Invalid, Refused

SALE = FlashSalePolicy(
    item="phone",
    stock=10,
    opens_at_s=10_000.0,
    ends_at_s=13_600.0,
    orders_url="http://shop.example/orders",
    frozen_s=1_000.0,
)
CORRECTION = Correction(
    id="phones-1",
    sale="phones",
    fields={"stock": "9"},
    author="ann",
    reviewer="bob",
    reason="one is broken",
)


@pytest.mark.parametrize(
    ("now_s", "standing", "expected"),
    [
        (9_999.9, Standing(), Phase.SCHEDULED),
        (10_000.0, Standing(), Phase.WAITING),
        (10_000.0, Standing(opened=True), Phase.OPEN),
        # A gateway whose clock is behind serves what was opened.
        (9_999.0, Standing(opened=True), Phase.OPEN),
        (10_001.0, Standing(opened=True, sold=9), Phase.OPEN),
        (10_001.0, Standing(opened=True, sold=10), Phase.SOLD_OUT),
        (13_600.0, Standing(opened=True), Phase.ENDED),
        (13_600.0, Standing(), Phase.ENDED),
    ],
)
def test_the_phase_follows_from_facts(now_s: float, standing: Standing, expected: Phase) -> None:
    assert phase(SALE, standing, now_s) is expected


def test_secrets_are_made_from_the_opening_to_the_end_only() -> None:
    assert [may_open(SALE, now_s) for now_s in (9_999.9, 10_000.0, 13_599.9, 13_600.0)] == [
        False,
        True,
        True,
        False,
    ]


def test_an_opening_is_of_one_sale_and_shows_no_secret() -> None:
    opening = Opening(
        sale="phones",
        item="phone",
        opens_at_s=10_000.0,
        token="purchase-token",
        key="form-key",
        opened_at_s=10_000.1,
    )
    assert opening.opens("phones", SALE)
    assert not opening.opens("others", SALE)
    assert not opening.opens("phones", dataclasses.replace(SALE, opens_at_s=20_000.0))
    assert "purchase-token" not in repr(opening)
    assert "form-key" not in f"{opening}"


def test_before_the_freeze_and_after_the_end_everything_may_be_edited() -> None:
    other = dataclasses.replace(SALE, stock=9)
    for now_s in (8_999.9, 13_600.0):
        require_editable("phones", (SALE, other), now_s)
        require_editable("phones", (SALE, None), now_s)


def test_a_frozen_sale_changes_only_by_what_was_reviewed() -> None:
    other = dataclasses.replace(SALE, stock=9)
    require_editable("phones", (SALE, SALE), 9_000.0)
    with pytest.raises(Refused, match="stock would change") as refused:
        require_editable("phones", (SALE, other), 9_000.0)
    assert refused.value.code == "sale_frozen"
    require_editable("phones", (SALE, other), 9_000.0, (CORRECTION,))
    unlike = (
        dataclasses.replace(CORRECTION, sale="others"),
        dataclasses.replace(CORRECTION, fields={"stock": "8"}),
        dataclasses.replace(CORRECTION, reviewer="ann"),
        dataclasses.replace(CORRECTION, reviewer=""),
    )
    with pytest.raises(Refused):
        require_editable("phones", (SALE, other), 9_000.0, unlike)


def test_a_frozen_sale_is_taken_away_only_by_a_reviewed_correction() -> None:
    with pytest.raises(Refused, match="removed would change"):
        require_editable("phones", (SALE, None), 10_500.0)
    away = dataclasses.replace(CORRECTION, fields={"removed": "true"})
    require_editable("phones", (SALE, None), 10_500.0, (away,))


def test_a_review_is_by_somebody_else_and_has_a_reason() -> None:
    require_review(CORRECTION)
    for wrong in ({"reviewer": "ann"}, {"reviewer": ""}, {"reason": "  "}):
        with pytest.raises(Refused) as refused:
            require_review(dataclasses.replace(CORRECTION, **wrong))
        assert refused.value.code == "correction_unreviewed"


def test_a_correction_sets_fields_that_a_sale_has() -> None:
    require_known("phones", {"stock": "9"})
    require_known("phones", {"removed": "true"})
    for wrong in ({}, {"stock": "9", "price": "1"}):
        with pytest.raises(Invalid, match="interval_s, invalidate_url"):
            require_known("phones", wrong)


def test_fields_are_compared_and_written_as_text() -> None:
    other = dataclasses.replace(SALE, stock=9, item="tablet")
    assert changed_fields(SALE, other) == ("item", "stock")
    assert [text_of(each) for each in (9, 10_000.0, 0.25, "x", ("a", "b"))] == [
        "9",
        "10000",
        "0.25",
        "x",
        "a,b",
    ]
