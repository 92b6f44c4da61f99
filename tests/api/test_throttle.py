import asyncio

import pytest

from controlplane.api.edge import throttle as module
from controlplane.api.edge.throttle import Throttle
from controlplane.domain.errors import Refused, Retryable
from tests.api.house import House

BAD = "sbx_" + "a" * 43


def guess(throttle: Throttle, client: str, code: str = "unauthenticated") -> None:
    with pytest.raises(Refused), throttle.watching(client, presented=True):
        raise Refused(code, "no")


async def test_repeated_bad_tokens_are_slowed_and_forgiven(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paused: list[float] = []

    async def pause(seconds: float) -> None:
        paused.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", pause)
    now = [0.0]
    throttle = Throttle(lambda: now[0])
    for _ in range(module.BURST):
        await throttle.before("1.2.3.4", known=False)
        guess(throttle, "1.2.3.4")
    assert paused == []
    await throttle.before("1.2.3.4", known=False)
    assert paused == [module.PAUSE_S]
    await throttle.before("1.2.3.4", known=True)
    await throttle.before("5.6.7.8", known=False)
    assert len(paused) == 1
    now[0] += module.FORGIVEN_S
    await throttle.before("1.2.3.4", known=False)
    assert len(paused) == 1


async def test_a_missing_permission_is_no_guess() -> None:
    throttle = Throttle(lambda: 0.0)
    for _ in range(3 * module.BURST):
        guess(throttle, "c", "forbidden")
    async with asyncio.timeout(0.5):
        await throttle.before("c", known=False)


async def test_clients_and_waiters_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CLIENTS", 3)
    monkeypatch.setattr(module, "MOST_WAITING", 1)
    throttle = Throttle(lambda: 0.0)
    for index in range(10):
        guess(throttle, str(index))
    assert len(throttle._debts) == 3
    for _ in range(module.BURST):
        guess(throttle, "c")
    first = asyncio.create_task(throttle.before("c", known=False))
    await asyncio.sleep(0)
    with pytest.raises(Retryable):
        await throttle.before("c", known=False)
    first.cancel()


async def test_the_api_answers_429_but_not_to_known_tokens(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 0)
    async with house.client(None) as guesser, house.client() as admin:
        await admin.get("/v1/tokens")
        headers = {"Authorization": f"Bearer {BAD}"}
        seen = [(await guesser.get("/v1/fleet", headers=headers)).status_code for _ in range(12)]
        assert seen == [401] * module.BURST + [429] * 2
        assert (await admin.get("/v1/tokens")).status_code == 200
