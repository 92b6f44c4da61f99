"""The plane says whether an Envoy that asks now is given something."""

from tests.adapters.envoy.site import SMALL, plane, snapshot


async def test_it_serves_once_something_was_applied() -> None:
    one = plane()
    assert not one.serving
    await one.apply(one.render(snapshot(SMALL, 1)))
    assert one.serving
