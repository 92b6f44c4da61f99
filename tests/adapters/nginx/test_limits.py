"""Limits of services in nginx's words, and a real nginx that keeps them."""

import signal
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import pytest

from benchmarks.free_ports import free_ports
from controlplane.adapters.nginx.limits import Limits
from controlplane.adapters.nginx.render import NginxOptions, render
from controlplane.domain.admission.adaptive_concurrency import AdaptiveConcurrencyPolicy
from controlplane.domain.admission.policy import Policy
from controlplane.domain.snapshot import ServiceLimit
from tests.servers import proxies as live_proxies
from tests.sites.limits import EACH, EACH_RPS, at_once, burst, limited, passed, sent, slow_service
from tests.sites.proxied import GROUP, fleet, snapshot

RATE_RPS = 20.0
RATE = ServiceLimit(rate_rps=RATE_RPS, burst=5.0)
ROOM = ServiceLimit(concurrent=2, waiting=1)


@pytest.mark.parametrize(
    ("limit", "lines", "zones"),
    [
        (None, [], []),
        (
            ServiceLimit(rate_rps=50.0),
            ["limit_req zone=r.web burst=49 nodelay;"],
            ['limit_req_zone "r.web" zone=r.web:32k rate=50r/s;'],
        ),
        (
            ServiceLimit(rate_rps=0.5, burst=1.0),
            ["limit_req zone=r.web nodelay;"],
            ['limit_req_zone "r.web" zone=r.web:32k rate=30r/m;'],
        ),
        (
            ServiceLimit(rate_rps=0.001),
            ["limit_req zone=r.web nodelay;"],
            ['limit_req_zone "r.web" zone=r.web:32k rate=1r/m;'],
        ),
        (
            ROOM,
            ["limit_conn c.web 3;"],
            ['limit_conn_zone "c.web" zone=c.web:32k;'],
        ),
        (
            ServiceLimit(concurrent=100_000),
            ["limit_conn c.web 65535;"],
            ['limit_conn_zone "c.web" zone=c.web:32k;'],
        ),
    ],
)
def test_words(limit: ServiceLimit | None, lines: list[str], zones: list[str]) -> None:
    (service,) = (
        replace(one, limit=limit)
        for one in snapshot(fleet()).content.endpoints.services
        if one.service == "web"
    )
    assert list(Limits().of_location(service)) == lines
    made = list(Limits().zones([service]))
    assert [line for line in made if "_zone " in line] == zones
    assert ("limit_req_status 429;" in made) is bool(zones)


def test_each_address_has_a_rate() -> None:
    artifact = render(limited((80, 81), None, policies=(EACH,)), NginxOptions(group=GROUP))
    text = dict(artifact.parts)["nginx.conf"].decode()
    assert "limit_req_zone $sb_client zone=a.web:10m rate=10r/s;" in text
    assert 'location "/" { limit_req zone=a.web burst=2 nodelay;' in text
    assert text.count("map $binary_remote_addr $sb_client {") == 1
    assert text.count("zone=a.free") == 0


def test_a_limit_that_is_to_be_learned_is_told() -> None:
    limit = ServiceLimit(adaptive=AdaptiveConcurrencyPolicy(least_ms=20.0))
    artifact = render(limited((80, 81), limit), NginxOptions(group=GROUP))
    told = [note.subject for note in artifact.notes if note.code == "limit_not_expressible"]
    assert told == ["service/web"]


def test_every_location_of_the_service_counts_and_no_other() -> None:
    artifact = render(limited((80, 81), RATE), NginxOptions(group=GROUP))
    text = dict(artifact.parts)["nginx.conf"].decode().splitlines()
    counted = [line for line in text if "proxy_pass http" in line and "limit_req zone=" in line]
    assert counted == [line for line in text if "proxy_pass http://s.web" in line] != []
    assert "limit_not_expressible" not in {note.code for note in artifact.notes}


def written(
    folder: Path,
    ports: tuple[int, int],
    limit: ServiceLimit | None,
    revision: int = 1,
    policies: tuple[Policy, ...] = (),
) -> None:
    options = NginxOptions(group=GROUP, directory=str(folder), workers="2")
    made = limited(ports, limit, revision, policies)
    live_proxies.write(folder, render(made, options).parts)


def test_a_real_nginx_keeps_a_rate_and_a_reload_fills_nothing(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    ports = tuple(free_ports(2))
    written(tmp_path, ports, RATE)
    with slow_service(ports[1]), live_proxies.nginx(tmp_path, ports[0]) as process:
        first = burst(ports[0], 30)
        assert 5 <= first.passed <= 6 + RATE_RPS * first.seconds, first
        assert first.refused == {429}
        found = passed(ports[0], 3, "/", "/own")
        record_property("passed_rps", max(found))
        assert max(found) >= 0.6 * RATE_RPS, found
        assert sum(found) <= 3.5 * RATE_RPS + 6, found
        began, through = time.monotonic(), 0
        for revision in range(2, 6):
            written(tmp_path, ports, RATE, revision)
            process.send_signal(signal.SIGHUP)
            through += sent(ports[0], 0.4, "/", "/own")[200]
        rate = through / (time.monotonic() - began)
        record_property("passed_rps_while_reloaded", round(rate, 1))
        # Filled by each reload it would be twice as much.
        assert 0.4 * RATE_RPS <= rate <= 1.3 * RATE_RPS
        assert not burst(ports[0], 30, "/free").refused


def test_a_real_nginx_lets_so_many_through_at_once(tmp_path: Path) -> None:
    ports = tuple(free_ports(2))
    written(tmp_path, ports, ROOM)
    with slow_service(ports[1]) as held, live_proxies.nginx(tmp_path, ports[0]):
        found = at_once(ports[0], 8, "/hold")
        assert max(accumulate(held)) == 3, held
        assert set(found) == {200, 503}
        assert at_once(ports[0], 3, "/hold") == {200: 3}


def test_a_real_nginx_counts_each_address_apart(tmp_path: Path) -> None:
    ports = tuple(free_ports(2))
    written(tmp_path, ports, None, policies=(EACH,))
    with slow_service(ports[1]), live_proxies.nginx(tmp_path, ports[0]):
        for source in ("127.0.0.1", "127.0.0.2"):
            found = burst(ports[0], 20, source=source)
            assert 3 <= found.passed <= 4 + EACH_RPS * found.seconds, found
            assert found.refused == {429}
        assert not burst(ports[0], 20, "/free").refused
