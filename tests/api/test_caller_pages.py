"""The examples of docs/callers.md and docs/tls.md are read and run."""

import json
import re
from pathlib import Path

import pytest

from controlplane.adapters.envoy.render import Renderer
from controlplane.adapters.haproxy.render import HaproxyOptions
from controlplane.adapters.haproxy.render import render as haproxy
from controlplane.adapters.nginx.render import NginxOptions
from controlplane.adapters.nginx.render import render as nginx
from controlplane.api.fleet_document.callers import JWT_KEYS, POLICY_KEYS
from controlplane.api.fleet_document.parsing import parse
from controlplane.domain.fleet_snapshot import build
from controlplane.domain.routing.callers.policies import CredentialType
from controlplane.domain.routing.zones import ZoneFunction
from controlplane.domain.topology import Fleet
from controlplane.proxies import renderings
from controlplane.settings import Settings

DOCS = Path(__file__).parents[2] / "docs"
CALLERS, TLS = ((DOCS / name).read_text(encoding="utf-8") for name in ("callers.md", "tls.md"))


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def fleet(page: str) -> Fleet:
    (text,) = blocks(page, "yaml")
    return parse(text)


@pytest.mark.parametrize("page", [CALLERS, TLS])
def test_the_example_is_a_fleet_that_every_plane_can_have(page: str) -> None:
    declared = fleet(page)
    made = build(declared, {"tickets": {"dc-east": 1.0}})
    assert Renderer().render(made).notes == ()
    assert haproxy(made, HaproxyOptions(group="edge")).notes == ()
    codes = {note.code for note in nginx(made, NginxOptions(group="edge")).notes}
    assert codes <= {"route_action_refused", "tls_version_shared"}


@pytest.mark.parametrize("page", [CALLERS, TLS])
def test_people_can_read_what_each_plane_is_given(page: str) -> None:
    made = build(fleet(page), {"tickets": {"dc-east": 1.0}})
    for rendering in renderings(Settings()).values():
        for name, data in rendering(made, "edge").parts:
            text = data.decode()
            assert not name.endswith(".json") or json.loads(text)


def test_python_examples_run() -> None:
    for text in blocks(CALLERS, "python"):
        exec(compile(text, "docs/callers.md", "exec"), {})


@pytest.mark.parametrize(
    "words", [POLICY_KEYS, JWT_KEYS, tuple(CredentialType), tuple(ZoneFunction)]
)
def test_everything_that_can_be_declared_is_told(words: tuple[str, ...]) -> None:
    assert [word for word in words if f"`{word}`" not in CALLERS] == []
