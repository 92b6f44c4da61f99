from gateway.state.ports import BucketRule
from tests.gateway.state.conftest import Kept

SLOW = BucketRule(rate_per_s=0.001, burst=3)
FAST = BucketRule(rate_per_s=100, burst=2)


async def test_a_new_bucket_is_full_and_gives_all_or_nothing(kept: Kept) -> None:
    buckets = kept.state.buckets
    assert (await buckets.take(kept.key(), 2, SLOW)).taken
    refused = await buckets.take(kept.key(), 2, SLOW)
    assert not refused.taken
    assert 1 <= refused.left < 1.01
    assert 900 < refused.retry_after_s <= 1_000
    assert (await buckets.take(kept.key(), 1, SLOW)).taken
    assert (await buckets.take(kept.key("other"), 3, SLOW)).taken


async def test_tokens_flow_in_up_to_the_burst(kept: Kept) -> None:
    buckets = kept.state.buckets
    first = await buckets.take(kept.key(), 2, FAST)
    assert first.taken
    assert first.retry_after_s == 0
    await kept.passes(0.05)
    assert (await buckets.take(kept.key(), 0, FAST)).left == 2


async def test_more_than_the_burst_is_never_given(kept: Kept) -> None:
    refused = await kept.state.buckets.take(kept.key(), 4, SLOW)
    assert not refused.taken
    assert refused.retry_after_s == float("inf")


async def test_a_bucket_may_start_empty(kept: Kept) -> None:
    rule = BucketRule(rate_per_s=0.001, burst=3, start=0)
    assert not (await kept.state.buckets.take(kept.key(), 1, rule)).taken
