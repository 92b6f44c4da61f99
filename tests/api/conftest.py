"""One control plane in memory for each test."""

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.api.house import House


@pytest.fixture
async def house() -> House:
    return await House().open()


@pytest.fixture
async def admin(house: House) -> AsyncIterator[httpx.AsyncClient]:
    async with house.client() as client:
        yield client
