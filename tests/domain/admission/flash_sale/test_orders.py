from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.admission.flash_sale.orders import Entry, Order, Orders


def _order(number: int) -> Order:
    return Order(id=f"order-{number}", user=f"user-{number}")


def test_batches_are_bounded_and_the_next_goes_when_the_last_has_succeeded() -> None:
    orders = Orders(batch=2, most=10)
    assert [orders.add(_order(number)) for number in range(3)] == [Entry.QUEUED] * 3
    first = orders.next_batch()
    assert first == (_order(0), _order(1))
    # It failed: the same goes again, and nothing else.
    assert orders.next_batch() == first
    orders.succeeded()
    assert orders.next_batch() == (_order(2),)
    orders.succeeded()
    assert orders.next_batch() == ()
    assert len(orders) == 0


def test_an_order_is_one_order_however_often_it_is_sent() -> None:
    orders = Orders(batch=1, most=10)
    orders.add(_order(0))
    assert orders.add(_order(0)) is Entry.KNOWN
    orders.next_batch()
    assert orders.add(_order(0)) is Entry.KNOWN
    assert len(orders) == 1


def test_the_queue_is_bounded_with_those_under_way() -> None:
    orders = Orders(batch=1, most=2)
    orders.add(_order(0))
    orders.next_batch()
    assert orders.add(_order(1)) is Entry.QUEUED
    assert orders.add(_order(2)) is Entry.FULL


def test_sold_out_answers_all_that_wait_without_the_shop() -> None:
    orders = Orders(batch=1, most=10)
    for number in range(3):
        orders.add(_order(number))
    under_way = orders.next_batch()
    assert orders.sell_out() == (_order(1), _order(2))
    assert orders.add(_order(3)) is Entry.SOLD_OUT
    # Only the shop knows what became of a batch that was sent.
    assert orders.next_batch() == under_way
    orders.succeeded()
    assert orders.next_batch() == ()


@given(st.lists(st.sampled_from(["add", "next", "succeeded", "sell_out"]), max_size=60))
def test_every_order_is_answered_once_or_still_there(events: list[str]) -> None:
    orders, taken, answered = Orders(batch=3, most=8), 0, 0
    for number, event in enumerate(events):
        if event == "add":
            taken += orders.add(_order(number)) is Entry.QUEUED
        elif event == "next":
            assert len(orders.next_batch()) <= 3
        elif event == "succeeded":
            answered += len(orders.next_batch())
            orders.succeeded()
        else:
            answered += len(orders.sell_out())
        assert len(orders) <= 8
        assert taken == answered + len(orders)
