"""docs/api.md lists exactly the calls that the application answers, with the roles that may."""

import re
from pathlib import Path

from controlplane.domain.access import AccessRole
from tests.api.house import House

ROW = re.compile(r"^\| `([A-Z]+) (\S+)` \| ([a-z, ]+) \|", re.MULTILINE)
TEXT = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")


async def test_every_call_is_documented_and_every_documented_call_exists(house: House) -> None:
    documented = {(method, path) for method, path, _ in ROW.findall(TEXT)}
    served = {
        (method.upper(), path)
        for path, methods in house.app.openapi()["paths"].items()
        for method in methods
    }
    assert documented == served


async def test_the_documented_roles_are_those_that_are_let_in(house: House) -> None:
    for role in AccessRole:
        async with house.client(role) as client:
            for method, path, who in ROW.findall(TEXT):
                if path == "/v1/watch":
                    continue
                status = (await client.request(method, re.sub(r"\{\w+\}", "x", path))).status_code
                let_in = who in ("every role", "everyone") or role.value in who.split(", ")
                assert (status != 403) == let_in, (role, method, path)
