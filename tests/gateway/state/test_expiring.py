import pytest

from controlplane.domain.errors import Retryable
from gateway.state.memory.expiring import Expiring


def test_it_never_holds_more_than_it_may() -> None:
    kept: Expiring[int] = Expiring(lambda: 0.0, most=3)
    for number in range(10):
        kept.put(str(number), number, 1.0)
    assert len(kept) == 3
    assert kept.get("9") == 9
    assert kept.get("0") is None


def test_what_must_not_be_lost_makes_room_for_nothing() -> None:
    clock = [0.0]
    kept: Expiring[int] = Expiring(lambda: clock[0], most=2)
    kept.put_safe("stock", 1, float("inf"))
    kept.put_safe("brief", 2, 1.0)
    with pytest.raises(Retryable, match="2 keys") as caught:
        kept.put_safe("third", 3, 1.0)
    assert caught.value.code == "shared_state_full"
    kept.put_safe("stock", 0, float("inf"))
    clock[0] = 2.0
    kept.put_safe("third", 3, 3.0)
    assert (kept.get("stock"), kept.get("third"), len(kept)) == (0, 3, 2)


def test_what_has_ended_goes_without_being_asked_for() -> None:
    clock = [0.0]
    kept: Expiring[int] = Expiring(lambda: clock[0])
    kept.put("lasting", 0, float("inf"))
    for number in range(50):
        clock[0] = number
        kept.put(str(number), number, number + 1.0)
    assert len(kept) < 5
    kept.drop("lasting")
    kept.drop("absent")
    assert kept.get("lasting") is None
    assert kept.ends_s("lasting") == float("inf")
