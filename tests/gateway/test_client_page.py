"""docs/application-client.md: its Python runs here as it stands, and prints what it says."""

import asyncio
import contextlib
import io
import re
from dataclasses import fields, replace
from pathlib import Path

import pytest

from benchmarks.free_ports import free_port
from controlplane.domain.access import AccessRole
from controlplane.domain.services import Endpoint
from gateway.application.options import ClientOptions
from tests.api.house import House
from tests.builders import fleet
from tests.gateway.application.test_client_polling import served
from tests.gateway.fleet import instances

PAGE = (Path(__file__).parents[2] / "docs" / "application-client.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n\n```text\n(?P<text>.*?)```\n", re.DOTALL)
ADDRESS = "http://127.0.0.1:8080"


def printed(code: str, names: dict[str, object]) -> str:
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        exec(compile(code, "application-client.md", "exec"), names)
    # Our own log goes to the same place.
    return "".join(f"{line}\n" for line in told.getvalue().splitlines() if "[info" not in line)


async def test_the_page_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house = await House().open()
    declared = fleet()
    async with instances({"beijing-1": 2, "beijing-2": 2}) as site:
        clusters = tuple(
            replace(
                each,
                endpoints=tuple(
                    Endpoint(address="127.0.0.1", port=port) for port in site.ports[each.datacenter]
                ),
            )
            for each in declared.services[0].clusters
        )
        service = replace(declared.services[0], clusters=clusters)
        await house.declare(replace(declared, services=(service,)))
        monkeypatch.chdir(tmp_path)
        (tmp_path / "token").write_text(house.secrets[AccessRole.GATEWAY])
        names: dict[str, object] = {}
        async with served(house, free_port()) as url:
            for block in BLOCK.finditer(PAGE):
                code = block["code"].replace(ADDRESS, url)
                assert await asyncio.to_thread(printed, code, names) == block["text"]
    assert len(BLOCK.findall(PAGE)) == 2


def test_every_option_is_on_the_page() -> None:
    rows = "\n".join(line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `"))
    assert set(re.findall(r"`(\w+)`", rows)) == {field.name for field in fields(ClientOptions)}
