from gateway.state.keys import LONGEST_PART, key


def test_everything_of_a_policy_has_one_hash_tag() -> None:
    assert key("seats", "pool") == "signalbox:{seats}:pool"
    assert key("seats") == "signalbox:{seats}"


def test_different_parts_never_give_one_key() -> None:
    pairs = [("a:b",), ("a", "b"), ("a}",), ("a",), ("é",), ("#",), ("x" * 65,), ("x" * 66,), ("",)]
    assert len({key("p", *parts) for parts in pairs}) == len(pairs)
    assert len({key("a}b"), key("a"), key("{a}")}) == 3


def test_a_part_that_a_client_chose_stays_short() -> None:
    assert len(key("p", "x" * LONGEST_PART)) > len(key("p", "x"))
    assert len(key("p", "x" * 100_000)) < 100
