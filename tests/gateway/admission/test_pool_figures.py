"""What metrics say of a session queue's pool."""

from prometheus_client import CollectorRegistry

from controlplane.domain.admission.session_queue.policy import SessionQueuePolicy
from controlplane.domain.admission.session_queue.room import Terms, Visitor
from gateway.admission.enforcing import Outcome
from gateway.admission.pool_figures import PoolBook
from gateway.admission.session_queue.steering import Steering
from gateway.state.memory.pools import MemoryPools

POLICY = SessionQueuePolicy(target_ms=500, initial_size=2)
TERMS = Terms(initial_size=2, stay_s=60, session_s=600, abandon_s=60)


def shown(book: PoolBook, name: str, **labels: str) -> float | None:
    registry = CollectorRegistry()
    registry.register(book)
    value: float | None = registry.get_sample_value(
        f"signalbox_agent_queue_{name}", {"policy": "seats", **labels}
    )
    return value


def resizes(book: PoolBook) -> list[float | None]:
    return [shown(book, "resizes_total", direction=each) for each in ("up", "down")]


async def test_size_inside_waiting_target_and_response_time_are_shown_and_changes_counted() -> None:
    clock, book = [0.0], PoolBook()
    pools = MemoryPools(lambda: clock[0])
    await pools.visit("k", [Visitor(session=f"s{each}") for each in range(9)], TERMS)
    figures = book.open("seats", POLICY.target_ms)
    one = Steering(
        name="seats", policy=POLICY, pools=pools, key="k", changed=lambda: None, figures=figures
    )
    assert (shown(book, "target_seconds"), shown(book, "size")) == (0.5, None)
    for took_s, period in ((0.1, 1), (2.0, 2)):
        for _ in range(4):
            one.seen(Outcome(status=200, took_s=took_s))
        clock[0] = 5.0 * period
        await one.step()
        await one.step()
        assert shown(book, "response_seconds") == took_s
        if period == 1:
            assert [shown(book, name) for name in ("size", "inside", "waiting")] == [4, 2, 7]
            assert resizes(book) == [1, 0]
    assert resizes(book) == [1, 1]
    # Nobody was served in this one: what is known of response times stays.
    clock[0] = 15.0
    await one.step()
    assert shown(book, "response_seconds") == 2.0


def test_a_queue_that_is_made_anew_goes_on_counting_and_one_that_is_gone_is_not_shown() -> None:
    book = PoolBook()
    first = book.open("seats", 500)
    first.resized(2, 4)
    second = book.open("seats", 800)
    book.close("seats", first)
    assert (shown(book, "target_seconds"), resizes(book)) == (0.8, [1, 0])
    book.close("seats", second)
    assert shown(book, "target_seconds") is None
