"""Limits of services in HAProxy's words, and a real HAProxy that keeps them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.adapters.haproxy import limits
from controlplane.adapters.haproxy.render import HaproxyOptions, render
from controlplane.domain.snapshot import ServiceLimit
from tests import live_proxies
from tests.limited_site import at_once, burst, limited, sent, slow_service
from tests.proxied_site import GROUP, fleet, snapshot

RATE_RPS = 20.0
RATE = ServiceLimit(rate_rps=RATE_RPS, burst=5.0)
ROOM = ServiceLimit(concurrent=2, waiting=1)
TRACKED = "http-request track-sc1 int(1) table l.web"
COUNTED = "http-request sc-inc-gpc0(1)"


@pytest.mark.parametrize(
    ("limit", "lines", "period"),
    [
        (None, [], ""),
        (ServiceLimit(rate_rps=50.0), [TRACKED, "429 if { sc1_gpc0_rate ge 50 }", COUNTED], "1000"),
        (ServiceLimit(rate_rps=50.0, burst=8.0), [TRACKED, "ge 8 }", COUNTED], "160"),
        (ServiceLimit(rate_rps=50.0, burst=1.0), [TRACKED, "ge 5 }", COUNTED], "100"),
        (ServiceLimit(rate_rps=0.5, burst=1.0), [TRACKED, "ge 1 }", COUNTED], "2000"),
        (ServiceLimit(rate_rps=1e-9), [TRACKED, "ge 1 }", COUNTED], "1000000000"),
        (ROOM, [TRACKED, "503 if { sc1_conn_cur gt 3 }"], "1000"),
    ],
)
def test_words(limit: ServiceLimit | None, lines: list[str], period: str) -> None:
    (service,) = (
        replace(one, limit=limit)
        for one in snapshot(fleet()).content.endpoints.services
        if one.service == "web"
    )
    made = list(limits.of_request(service))
    assert len(made) == len(lines)
    assert all(line.endswith(end) for line, end in zip(made, lines, strict=True)), made
    if limit is not None:
        section, kept = limits.table(service)
        assert section == "backend l.web"
        assert kept.endswith(f"store conn_cur,gpc0_rate({period}ms)")


def test_every_section_of_the_service_counts_and_no_other() -> None:
    artifact = render(limited((80, 81), RATE), HaproxyOptions(group=GROUP))
    text = dict(artifact.parts)["haproxy.cfg"].decode()
    sections = text.split("\n\n")
    counting = {one.split()[1] for one in sections if "track-sc1" in one}
    assert counting == {"s.web", "r.own"}
    assert text.count("backend l.web") == 1
    assert "limit_not_expressible" not in {note.code for note in artifact.notes}


def written(folder: Path, ports: tuple[int, int], limit: ServiceLimit) -> None:
    options = HaproxyOptions(group=GROUP, socket=str(folder / "haproxy.sock"))
    live_proxies.write(folder, render(limited(ports, limit), options).parts)


def test_a_real_haproxy_keeps_a_rate(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    ports = (live_proxies.free_port(), live_proxies.free_port())
    written(tmp_path, ports, RATE)
    with slow_service(ports[1]), live_proxies.haproxy(tmp_path, ports[0]):
        first = burst(ports[0], 30)
        assert 5 <= first[200] <= 8, first
        assert set(first) == {200, 429}
        steady = sent(ports[0], 2.0, "/", "/own")
        record_property("passed_rps", round(steady[200] / 2.0, 1))
        assert 0.8 * RATE_RPS <= steady[200] / 2.0 <= 1.2 * RATE_RPS, steady
        assert set(burst(ports[0], 30, "/free")) == {200}


def test_a_real_haproxy_lets_so_many_through_at_once(tmp_path: Path) -> None:
    ports = (live_proxies.free_port(), live_proxies.free_port())
    written(tmp_path, ports, ROOM)
    with slow_service(ports[1]), live_proxies.haproxy(tmp_path, ports[0]):
        found = at_once(ports[0], 8, "/hold")
        assert found == {200: 3, 503: 5}
        assert at_once(ports[0], 3, "/hold") == {200: 3}
