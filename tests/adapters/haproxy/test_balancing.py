"""How HAProxy chooses a server, by the service's way of choosing."""

import re
from dataclasses import replace

import pytest

from controlplane.adapters.haproxy.backends import Reach, section
from controlplane.adapters.haproxy.targets import Target
from controlplane.domain.canonical import digest
from controlplane.domain.services import (
    AllDown,
    CheckKind,
    LoadBalancing,
    RetryPolicy,
    StickyMode,
)
from controlplane.domain.snapshot import CenterEndpoints, ServiceEndpoints
from tests.sites.proxied import fleet, snapshot


@pytest.mark.parametrize(
    ("balancing", "lines"),
    [
        (LoadBalancing.MAGLEV, ["balance hash var(txn.who)", "hash-type consistent"]),
        (
            LoadBalancing.BOUNDED_HASH,
            ["balance hash var(txn.who)", "hash-type consistent", "hash-balance-factor 125"],
        ),
        (LoadBalancing.ROUND_ROBIN, ["balance roundrobin"]),
        (LoadBalancing.LEAST_CONNECTIONS, ["balance leastconn"]),
    ],
)
def test_ways_of_choosing(balancing: LoadBalancing, lines: list[str]) -> None:
    service = replace(snapshot(fleet()).content.endpoints.services[0], load_balancing=balancing)
    reach = Reach(service=service, weights={})
    made = list(section(Target(name="s", service=service.service, version="*"), reach))
    at = made.index("option allbackups")
    assert made[at - len(lines) : at] == lines


def servers(service: ServiceEndpoints, weights: dict[str, int]) -> list[str]:
    """The servers of its section, without how they are watched."""
    reach = Reach(service=service, weights=weights)
    made = section(Target(name="s", service=service.service, version="*"), reach)
    watched = re.compile(r" check inter \d+ms rise \d+ fall \d+")
    return [watched.sub("", line) for line in made if line.startswith("server ")]


def site(**more: object) -> ServiceEndpoints:
    """Two endpoints east, one west."""
    service = replace(snapshot(fleet()).content.endpoints.services[0])
    east, west = (
        CenterEndpoints(
            datacenter=name, region="r", addresses=tuple(("10.0.0.1", p) for p in given)
        )
        for name, given in (("east", (1, 2)), ("west", (6,)))
    )
    return replace(service, centers=(replace(east, **more), west))  # type: ignore[arg-type]


HALVES = {"east": 5_000, "west": 5_000}


def test_who_is_out_has_weight_0_unless_nobody_is_left() -> None:
    out = (("10.0.0.1", 2),)
    assert servers(site(out=out), HALVES) == [
        "server east.1 10.0.0.1:1 weight 128",
        "server east.2 10.0.0.1:2 weight 0",
        "server west.1 10.0.0.1:6 weight 256",
    ]
    only = replace(site(), centers=(replace(site(out=out).centers[0], addresses=out),))
    assert servers(only, HALVES) == ["server east.1 10.0.0.1:2 weight 256"]
    closed = replace(only, all_down=AllDown.CLOSED)
    assert servers(closed, HALVES) == ["server east.1 10.0.0.1:2 weight 0"]


def test_errors_are_read_again_where_the_service_says_so() -> None:
    for is_sure, codes in ((False, "502 503 504"), (True, "500 502 503 504")):
        service = replace(site(), retry=RetryPolicy(server_errors=is_sure))
        target = Target(name="s", service=service.service, version="*")
        made = list(section(target, Reach(service=service, weights=HALVES)))
        assert f"retry-on conn-failure empty-response response-timeout {codes}" in made


def test_sessions_stay_where_it_drains_and_end_at_weight_0() -> None:
    both = (("10.0.0.1", 1), ("10.0.0.1", 2))
    session = replace(site(draining=both), stickiness=StickyMode.SESSION)
    one, two, six = (digest(f"10.0.0.1:{port}".encode())[:12] for port in (1, 2, 6))
    assert servers(session, {"west": 10_000}) == [
        f"server west.1 10.0.0.1:6 weight 256 cookie {six}",
        f"server east.1 10.0.0.1:1 weight 0 cookie {one}",
        f"server east.2 10.0.0.1:2 weight 0 cookie {two}",
    ]
    over = replace(site(), stickiness=StickyMode.SESSION)
    assert servers(over, {"west": 10_000}) == [
        f"server west.1 10.0.0.1:6 weight 256 cookie {six}",
        "server east.1 10.0.0.1:1 weight 256 backup",
        "server east.2 10.0.0.1:2 weight 256 backup",
    ]
    reach = Reach(service=session, weights=HALVES)
    lines = list(section(Target(name="s", service=session.service, version="*"), reach))
    named = f"cookie signalbox_at_{session.service} insert indirect nocache httponly"
    assert f'{named} attr "SameSite=Lax"' in lines


@pytest.mark.parametrize(
    ("kind", "http", "watched"),
    [
        (CheckKind.HTTP, True, True),
        (CheckKind.TCP, False, True),
        (CheckKind.COMMAND, False, False),
    ],
)
def test_what_haproxy_checks_by_itself(kind: CheckKind, http: bool, watched: bool) -> None:
    service = replace(site(), health_check=replace(site().health_check, kind=kind))
    reach = Reach(service=service, weights=HALVES)
    lines = list(section(Target(name="s", service=service.service, version="*"), reach))
    assert any(line.startswith("option httpchk") for line in lines) is http
    assert all(" check inter " in line for line in lines if line.startswith("server")) is watched
