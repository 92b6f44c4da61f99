from controlplane.domain.admission.session_queue.deadlines import Deadlines


def test_keys_are_over_at_their_last_deadline() -> None:
    deadlines = Deadlines()
    deadlines.put("moved back", 1.0)
    deadlines.put("moved back", 5.0)
    deadlines.put("moved up", 9.0)
    deadlines.put("moved up", 2.0)
    deadlines.put("dropped", 1.0)
    assert deadlines.drop("dropped")
    assert not deadlines.drop("dropped")
    assert list(deadlines.over(0.9)) == []
    assert list(deadlines.over(4.0)) == ["moved up"]
    assert "moved up" not in deadlines
    assert "moved back" in deadlines
    assert list(deadlines.over(9.0)) == ["moved back"]


def test_a_key_that_comes_back_is_over_once() -> None:
    deadlines = Deadlines()
    deadlines.put("a", 3.0)
    deadlines.drop("a")
    deadlines.put("a", 4.0)
    assert list(deadlines.over(3.5)) == []
    assert list(deadlines.over(4.0)) == ["a"]
    assert list(deadlines.over(99.0)) == []


def test_moving_a_deadline_needs_no_memory() -> None:
    deadlines = Deadlines()
    for moved in range(1_000):
        deadlines.put("a", float(moved))
    assert len(deadlines._order) == 1
