"""The agent keeps the route table of its group, and answers from it without the control plane."""

import asyncio
import contextlib
import json
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from benchmarks.free_ports import free_port, free_ports
from controlplane.domain.access import AccessRole
from controlplane.domain.errors import Invalid
from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.matching.table import Table
from controlplane.domain.routing.matching.wire import encoded
from gateway.commands.route import route
from gateway.last_good.polling import Fetched, Source
from gateway.last_good.route_file import FILE_NAME, RouteFile
from gateway.options import AgentOptions
from gateway.xds_cache.agent import Agent
from tests.api.house import House
from tests.builders import fleet
from tests.gateway.application.test_client_polling import served
from tests.gateway.fleet import ROUTES
from tests.gateway.test_client import until


def kept(folder: Path) -> RouteFile:
    folder.mkdir(exist_ok=True)
    one = RouteFile(folder)
    one.store(Fetched(body=encoded(Table.of(ROUTES, (), "edge")), tag='"t"', revision=3))
    return one


def ask(folder: Path, *arguments: str) -> str:
    return route([*arguments, "--cache", str(folder)])


def test_it_answers_in_words_and_in_json(tmp_path: Path) -> None:
    assert kept(tmp_path).tag() == '"t"'
    assert ask(tmp_path, "/gates/x").startswith("route all: service gates (")
    assert "answered with 308 to /gates" in ask(tmp_path, "https://h.example/old")
    assert ask(tmp_path, "/nothing").startswith("answered with 404 (")
    assert ask(tmp_path, "/closed").startswith("route closed: answered with 403 (")
    split = ask(tmp_path, "/split", "--header", "X-Request-Id: ffff")
    assert split.startswith("route split: service gates version v2 (")
    told = json.loads(ask(tmp_path, "/gates", "--json", "--method", "POST"))
    assert (told["route"], told["service"], told["version"]) == ("all", "gates", "*")


def test_what_is_missing_or_damaged_is_told(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="run the agent with --api"):
        ask(tmp_path, "/gates")
    one = kept(tmp_path)
    with pytest.raises(Invalid, match="NAME: VALUE"):
        ask(tmp_path, "/gates", "--header", "nothing")
    path = tmp_path / FILE_NAME
    path.write_bytes(path.read_bytes()[:-1])
    assert one.tag() == ""
    with pytest.raises(Invalid, match="digest"):
        one.table()
    assert RouteFile(tmp_path / "none").tag() == ""


def test_what_cannot_be_read_never_takes_the_place_of_what_can(tmp_path: Path) -> None:
    one = kept(tmp_path)
    with pytest.raises(Invalid):
        one.store(Fetched(body=b"{}", tag="", revision=4))
    assert one.tag() == '"t"'


def beside(folder: Path, house: House, url: str) -> Agent:
    """An agent that keeps the house's routes; no ADS answers it."""
    token = folder / "token"
    token.write_text(house.secrets[AccessRole.GATEWAY])
    ads, listen = free_ports(2)
    routes = Source(
        urls=(url,),
        path="/v1/routes",
        token_file=token,
        parameters={"gateway": "edge"},
        back_off_s=0.01,
    )
    return Agent(
        AgentOptions(
            cache=folder / "cache",
            control_plane=("127.0.0.1", ads),
            listen=("127.0.0.1", listen),
            node="n1",
            group="edge",
            token_file=token,
            routes=routes,
        )
    )


async def test_the_decision_is_that_of_the_control_plane(tmp_path: Path) -> None:
    house = await House().open()
    routes = tuple(
        replace(one, service=one.service and "tickets", versions=())
        for one in ROUTES
        if not one.gateways
    )
    await house.declare(replace(fleet(), routes=routes))
    async with served(house, free_port()) as url:
        task = asyncio.create_task(beside(tmp_path, house, url).run())
        await until((tmp_path / "cache" / FILE_NAME).exists)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    table, own = RouteFile(tmp_path / "cache").table(), Table.of(routes, (), "edge")
    for path in ("/gates", "/gates/7", "/split", "/old", "/closed", "/nothing", "//gates"):
        request = Request.of(path)
        assert isinstance(request, Request)
        assert asdict(table.match(request, 0.0)) == asdict(own.match(request, 0.0))


async def test_the_program_answers(tmp_path: Path) -> None:
    kept(tmp_path)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "gateway", "route", "/gates", "--cache", str(tmp_path)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ,
    )
    told, _ = await asyncio.wait_for(process.communicate(), 30)
    assert (process.returncode, told.decode()[:26]) == (0, "route all: service gates (")
