"""What is counted of one sale, and what of the next one of its name."""

import time
from dataclasses import replace
from pathlib import Path

from controlplane.domain.admission.flash_sale.life import Opening
from controlplane.domain.admission.flash_sale.policy import FlashSalePolicy
from gateway.admission.flash_sale.counter import SaleCounter
from gateway.admission.flash_sale.desk import Buyer
from gateway.admission.flash_sale.forms_given import FormsGiven
from gateway.admission.flash_sale.pages import Page
from gateway.admission.flash_sale.stock import Stock
from gateway.admission.opening_options import OpeningOptions
from gateway.last_good.polling import Source
from gateway.state.shared import in_memory

OPENS_S = time.time() - 1
SALE = FlashSalePolicy(
    item="phone",
    stock=1,
    opens_at_s=OPENS_S,
    ends_at_s=OPENS_S + 600,
    orders_url="http://127.0.0.1:9/orders",
    forms_per_node=2,
    interval_s=0.0,
)
OPENING = Opening(
    sale="phones",
    item=SALE.item,
    opens_at_s=OPENS_S,
    token="the-purchase-token",
    key="k" * 43,
    opened_at_s=OPENS_S,
)


async def test_a_sale_of_the_same_name_an_hour_later_begins_anew() -> None:
    state = in_memory(time.monotonic)
    sold = Stock("phones", SALE, state)
    assert await sold.take("ann")
    await sold.begin()
    await sold.sell_out()
    again = replace(SALE, opens_at_s=OPENS_S + 3_600, ends_at_s=OPENS_S + 4_200)
    later = Stock("phones", again, state)
    await later.begin()
    assert not await later.look()
    assert await later.take("bob")


def _run(folder: Path) -> SaleCounter:
    """A node from its start on."""
    source = Source(urls=("http://127.0.0.1:9",), path="", token_file=folder / "token")
    options = OpeningOptions(source=source, folder=folder)
    counter = SaleCounter("phones", SALE, in_memory(time.monotonic), options)
    counter.open(OPENING)
    return counter


def _form(counter: SaleCounter, user: str, cookie: str = "") -> Page:
    return counter.desk.form(Buyer(user=user, cookie=cookie), time.time())


async def test_a_node_that_restarts_gives_out_no_second_quota(tmp_path: Path) -> None:
    before = _run(tmp_path / "node")
    form = _form(before, "ann")
    assert _form(before, "ann").status == 200
    kept = dict(form.headers)[b"Set-Cookie"].decode().partition("=")[2].partition(";")[0]
    again = _run(tmp_path / "node")
    assert [_form(again, user).status for user in ("bob", "eve")] == [200, 410]
    assert _form(again, "ann", kept).outcome == "form"
    (file,) = (tmp_path / "node").glob("forms-*")
    assert (file.stat().st_size, file.stat().st_mode & 0o777) == (2, 0o600)


async def test_another_sale_has_a_quota_of_its_own(tmp_path: Path) -> None:
    FormsGiven("phones", SALE, tmp_path).one_more()
    assert FormsGiven("phones", SALE, tmp_path).before() == 1
    later = replace(SALE, opens_at_s=OPENS_S + 3_600)
    assert FormsGiven("phones", later, tmp_path).before() == 0


async def test_where_no_count_can_be_kept_the_sale_goes_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    counter = _run(tmp_path / "file")
    assert [_form(counter, user).status for user in ("ann", "bob", "eve")] == [200, 200, 410]
