"""The client beside the real API: it follows changes, holds on, and tells what it saw."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import uvicorn

from benchmarks.live_envoy import free_ports
from controlplane.domain.access import AccessRole
from controlplane.domain.topology import Fleet
from gateway.client import AsyncClient
from gateway.last_good import LastGood
from tests.api.house import House
from tests.builders import fleet
from tests.gateway.fleet import GROUP, options
from tests.gateway.test_client import until


@contextlib.asynccontextmanager
async def served(house: House, port: int) -> AsyncIterator[str]:
    """The house's API on a port."""
    config = uvicorn.Config(house.app, port=port, log_level="critical", lifespan="off")
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = server.force_exit = True
        await task


def smaller(declared: Fleet) -> Fleet:
    """The fleet without one endpoint."""
    first, second = declared.services[0].clusters
    fewer = replace(first, endpoints=first.endpoints[:-1])
    return replace(declared, services=(replace(declared.services[0], clusters=(fewer, second)),))


async def test_it_follows_what_is_published_and_holds_on_without_it(tmp_path: Path) -> None:
    house = await House().open()
    await house.declare()
    (port,) = free_ports(1)
    (tmp_path / "token").write_text(house.secrets[AccessRole.GATEWAY])
    async with AsyncClient(options(tmp_path, f"http://127.0.0.1:{port}")) as client:
        assert client.revision == 0
        async with served(house, port):
            await until(lambda: client.revision == 1)
            with client.instance("tickets") as lease:
                lease.answered(503)
            await until(lambda: house.app.state.services.outcomes.totals)
            await house.declare(smaller(fleet()))
            await until(lambda: client.revision == 2)
            await until(lambda: house.consumers.nodes(house.clock.now()))
            (seen,) = house.consumers.nodes(house.clock.now())
            assert (seen.name, seen.group) == ("orders-1", "edge")
        await asyncio.sleep(0.1)
        assert client.revision == 2
        with client.instance("tickets"):
            pass
    kept = LastGood(tmp_path / "kept").load(GROUP)
    assert kept is not None
    assert kept.revision == 2
