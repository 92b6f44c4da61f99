from tests.gateway.state.conftest import Kept


async def test_a_value_is_what_was_set_last(kept: Kept) -> None:
    values = kept.state.values
    assert await values.get(kept.key()) is None
    await values.set(kept.key(), b"one")
    await values.set(kept.key(), b"\x00\xff\r\n")
    assert await values.get(kept.key()) == b"\x00\xff\r\n"


async def test_a_value_ends_with_its_time(kept: Kept) -> None:
    values = kept.state.values
    await values.set(kept.key(), b"one", ttl_s=0.1)
    await values.set(kept.key("kept"), b"two", ttl_s=60)
    await kept.passes(0.15)
    assert await values.get(kept.key()) is None
    assert await values.get(kept.key("kept")) == b"two"


async def test_only_who_knows_the_value_changes_it(kept: Kept) -> None:
    values = kept.state.values
    assert not await values.compare_and_set(kept.key(), b"one", b"two")
    assert not await values.compare_and_set(kept.key(), b"", b"two")
    assert await values.compare_and_set(kept.key(), None, b"")
    assert not await values.compare_and_set(kept.key(), None, b"two")
    assert await values.compare_and_set(kept.key(), b"", b"two", ttl_s=60)
    assert await values.get(kept.key()) == b"two"
    assert not await values.compare_and_set(kept.key(), b"one", None)
    assert await values.compare_and_set(kept.key(), b"two", None)
    assert await values.get(kept.key()) is None
