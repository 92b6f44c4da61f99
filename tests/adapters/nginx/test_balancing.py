"""How nginx chooses a server, by the service's way of choosing."""

from dataclasses import replace

import pytest

from controlplane.adapters.nginx.render import NginxOptions, render
from controlplane.domain.services import LoadBalancing, RetryPolicy, StickyMode
from tests.sites.proxied import GROUP, fleet, snapshot, with_out


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


def test_errors_are_read_again_where_the_service_says_so() -> None:
    declared = fleet()
    service, *others = declared.services
    sure = replace(service, retry=RetryPolicy(server_errors=True))
    told = snapshot(replace(declared, services=(sure, *others)))
    text = dict(render(told, NginxOptions(group=GROUP)).parts)["nginx.conf"].decode()
    again = "proxy_next_upstream error timeout http_502 http_503 http_504 http_500;"
    bodies = [line for line in text.splitlines() if "proxy_pass http" in line]
    assert {again in line for line in bodies if f"//s.{service.name}$" in line} == {True}
    assert not any(again in line for line in bodies if f"//s.{others[0].name}$" in line)


def test_who_is_out_is_left_out_and_sessions_are_a_note() -> None:
    told = with_out(["127.0.0.1:9201"], stickiness=StickyMode.SESSION)
    artifact = render(told, NginxOptions(group=GROUP))
    text = dict(artifact.parts)["nginx.conf"].decode()
    assert "server 127.0.0.1:9201 " not in text
    assert "server 127.0.0.1:9202 " in text
    assert "sessions_not_expressible" in {note.code for note in artifact.notes}
