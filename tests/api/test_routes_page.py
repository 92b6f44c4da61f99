"""docs/routes.md: every example is read as part of a fleet, and its checks hold."""

import re
from pathlib import Path

import pytest

from controlplane.api.fleet_document.parsing import parse
from controlplane.api.fleet_document.rendering import render
from controlplane.api.fleet_document.routes import CHECK_KEYS, ROUTE_KEYS
from controlplane.domain.routing.life.checks import results
from controlplane.domain.routing.matching.provided_functions import PROVIDED
from controlplane.domain.routing.route import L4Route
from controlplane.domain.routing.whitelist import Whitelist, refusal
from tests.api.test_fleet_document import CENTERS, SERVICE

PAGE = (Path(__file__).parents[2] / "docs" / "routes.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_read_and_its_checks_hold(example: str) -> None:
    fleet = parse(CENTERS + SERVICE.replace("name: s", "name: tickets") + example)
    assert fleet.routes or fleet.l4_routes
    assert parse(render(fleet)) == fleet
    routes = (*fleet.routes, *map(refusal, fleet.whitelists))
    assert [one.fault for one in results(routes, 0.0) if one.fault] == []


def test_every_key_is_explained() -> None:
    keys = {*ROUTE_KEYS, *CHECK_KEYS, *Whitelist.__slots__, *L4Route.__slots__}
    missing = sorted(key for key in keys if f"`{key}`" not in PAGE)
    assert missing == []
    assert len([one for one in EXAMPLES if "checks:" in one]) == 3
    assert [name for name in PROVIDED if f"| `{name}` |" not in PAGE] == []
