"""A coroutine's first step, and the rest of it in the same task."""

import asyncio

import pytest

from gateway.admission.first_step import Ready, Waits, begun


async def at_once(value: int) -> int:
    return value


async def later(gate: asyncio.Future[int], ends: list[str]) -> int:
    try:
        first = await gate
        await asyncio.sleep(0)
        return first + 1
    except ValueError:
        return -1
    finally:
        ends.append("ended")


async def failing() -> int:
    raise KeyError("at once")


async def test_what_never_waits_is_ready() -> None:
    assert begun(at_once(7)) == Ready(7)
    with pytest.raises(KeyError):
        begun(failing())


async def test_what_waits_goes_on_where_it_was() -> None:
    gate: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    step = begun(later(gate, []))
    assert isinstance(step, Waits)
    gate.set_result(1)
    async with asyncio.timeout(10):
        assert await step == 2


async def test_an_error_of_what_it_waits_for_comes_to_it() -> None:
    gate: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    step = begun(later(gate, []))
    assert isinstance(step, Waits)
    gate.set_exception(ValueError())
    assert await step == -1


async def test_a_deadline_ends_it_where_it_waits() -> None:
    ends: list[str] = []
    step = begun(later(asyncio.get_running_loop().create_future(), ends))
    assert isinstance(step, Waits)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.0):
            await step
    assert ends == ["ended"]


async def test_who_drops_it_ends_it() -> None:
    ends: list[str] = []
    step = begun(later(asyncio.get_running_loop().create_future(), ends))
    assert isinstance(step, Waits)
    waiting = step.__await__()
    next(waiting)
    waiting.close()
    assert ends == ["ended"]
