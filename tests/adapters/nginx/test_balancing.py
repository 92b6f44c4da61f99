"""How nginx chooses a server, by the service's way of choosing."""

from dataclasses import replace

import pytest

from controlplane.adapters.nginx.render import NginxOptions, render
from controlplane.domain.services import LoadBalancing, StickyMode
from controlplane.domain.snapshot import assemble
from tests.proxied_site import GROUP, fleet, snapshot


@pytest.mark.parametrize(
    ("balancing", "line", "is_noted"),
    [
        (LoadBalancing.MAGLEV, "hash $sb_who consistent;", False),
        (LoadBalancing.BOUNDED_HASH, "hash $sb_who consistent;", True),
        (LoadBalancing.ROUND_ROBIN, "server ", False),
        (LoadBalancing.LEAST_CONNECTIONS, "least_conn;", False),
    ],
)
def test_ways_of_choosing(balancing: LoadBalancing, line: str, is_noted: bool) -> None:
    declared = fleet()
    services = tuple(replace(s, load_balancing=balancing) for s in declared.services)
    artifact = render(snapshot(replace(declared, services=services)), NginxOptions(group=GROUP))
    lines = dict(artifact.parts)["nginx.conf"].decode().splitlines()
    first = next(at for at, text in enumerate(lines) if text.strip().startswith("upstream "))
    assert lines[first + 1].strip().startswith(line)
    assert ("bound_not_expressible" in {note.code for note in artifact.notes}) is is_noted


def test_who_is_out_is_left_out_and_sessions_are_a_note() -> None:
    found = snapshot(fleet())
    section = found.content.endpoints
    first = section.services[0]
    center = first.centers[0]
    gone = replace(center, out=center.addresses[:1])
    changed = replace(first, centers=(gone, *first.centers[1:]), stickiness=StickyMode.SESSION)
    endpoints = replace(section, services=(changed, *section.services[1:]))
    told = assemble(replace(found.content, endpoints=endpoints))
    artifact = render(told, NginxOptions(group=GROUP))
    address, port = center.addresses[0]
    assert f"server {address}:{port} " not in dict(artifact.parts)["nginx.conf"].decode()
    assert "sessions_not_expressible" in {note.code for note in artifact.notes}
