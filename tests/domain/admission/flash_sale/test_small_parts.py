"""Forms, replay and tickets."""

from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.admission.flash_sale import tickets
from controlplane.domain.admission.flash_sale.forms import Forms
from controlplane.domain.admission.flash_sale.replay import Replay


def test_a_node_gives_out_its_quota_and_everybody_keeps_his_form() -> None:
    forms = Forms(quota=2)
    assert [forms.take("ann", 1), forms.take("bob", 2), forms.take("eve", 3)] == [1, 2, None]
    assert forms.take("ann", 9) == 1
    assert forms.spent
    assert not Forms(quota=1).spent


@given(st.lists(st.text(max_size=3), max_size=40), st.integers(1, 5))
def test_never_more_forms_than_the_quota(users: list[str], quota: int) -> None:
    forms = Forms(quota=quota)
    given_to = {user for user in users if forms.take(user, 1) is not None}
    assert len(given_to) == min(quota, len(set(users)))


def test_the_last_answer_is_given_again_within_the_interval() -> None:
    replay: Replay[str] = Replay(interval_s=5.0, most=10)
    assert replay.last("ann", 100.0) is None
    replay.remember("ann", "wait", 100.0)
    assert replay.last("ann", 104.9) == "wait"
    assert replay.last("ann", 105.0) is None
    assert replay.last("ann", 104.0) is None


def test_a_clock_that_went_back_ends_an_answer() -> None:
    replay: Replay[str] = Replay(interval_s=5.0, most=10)
    replay.remember("ann", "wait", 100.0)
    assert replay.last("ann", 99.0) is None


def test_answers_are_bounded_the_oldest_go_first() -> None:
    replay: Replay[str] = Replay(interval_s=5.0, most=2)
    for user in ("ann", "bob", "ann", "eve"):
        replay.remember(user, user, 100.0)
    assert [replay.last(user, 100.0) for user in ("ann", "bob", "eve")] == ["ann", None, "eve"]
    replay.forget()
    assert replay.last("ann", 100.0) is None


def test_no_interval_keeps_nothing() -> None:
    replay: Replay[str] = Replay(interval_s=0.0, most=2)
    replay.remember("ann", "wait", 100.0)
    assert replay.last("ann", 100.0) is None


def test_a_ticket_is_its_users_and_says_when() -> None:
    text = tickets.ticket("key", "ann", 1_700_000_000_123)
    assert tickets.given_ms("key", "ann", text) == 1_700_000_000_123
    assert tickets.given_ms("key", "bob", text) is None
    assert tickets.given_ms("other", "ann", text) is None
    for wrong in ("", "1", "x.y", "²." + text[14:], "1700000000124" + text[13:], "1" * 16 + "."):
        assert tickets.given_ms("key", "ann", wrong) is None


def test_a_quiz_differs_between_users_and_sales() -> None:
    asked = tickets.question("key", "ann")
    first, second = asked.text.split(" + ")
    assert int(first) + int(second) == int(asked.answer)
    many = {tickets.question("key", f"user-{number}").text for number in range(100)}
    assert len(many) > 90
    assert tickets.question("other", "ann") != asked


def test_a_user_has_one_order_in_a_sale() -> None:
    assert tickets.order_id("a", "b c") == tickets.order_id("a", "b c")
    assert tickets.order_id("a", "b c") != tickets.order_id("a b", "c")


def test_announced_codes_are_known_by_digest() -> None:
    digest = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
    assert tickets.is_code((digest,), " secret ")
    assert not tickets.is_code((digest,), "Secret")


def test_what_is_no_text_is_nobodys_and_no_fault() -> None:
    """A fault would let its sender on: bytes beyond UTF-8 come as single surrogates."""
    strange = "1.\udcff"
    assert tickets.given_ms("key", "ann", strange) is None
    assert not tickets.is_code(("digest",), strange)
    assert tickets.order_id("a", strange) != tickets.order_id("a", "1.\udcfe")
    text = tickets.ticket("key", strange, 5)
    assert tickets.given_ms("key", strange, text) == 5
