"""Limits of services in HAProxy's words, and a real HAProxy that keeps them."""

from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import pytest

from benchmarks.free_ports import free_ports
from controlplane.adapters.haproxy import limits
from controlplane.adapters.haproxy.render import HaproxyOptions, render
from controlplane.domain.admission.adaptive_concurrency import AdaptiveConcurrencyPolicy
from controlplane.domain.admission.policy import Policy
from controlplane.domain.snapshot import ServiceLimit
from tests.servers import proxies as live_proxies
from tests.sites.limits import EACH, EACH_RPS, at_once, burst, limited, passed, slow_service
from tests.sites.proxied import GROUP, fleet, snapshot

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
        ((section, kept),) = limits.tables(service)
        assert section == "backend l.web"
        assert kept.endswith(f"store conn_cur,gpc0_rate({period}ms)")


def test_each_address_has_a_rate() -> None:
    made = limited((80, 81), None, policies=(EACH,))
    text = dict(render(made, HaproxyOptions(group=GROUP)).parts)["haproxy.cfg"].decode()
    sections = {one.split()[1]: one for one in text.split("\n\n") if one.startswith("backend")}
    kept = "stick-table type ipv6 size 100000 expire 600ms store gpc0_rate(300ms)"
    assert kept in sections["a.web"]
    lines = [line.strip() for line in sections["s.web"].splitlines() if "sc2" in line]
    assert lines[0].startswith("http-request track-sc2 src table a.web if ")
    assert lines[2] == "http-request deny deny_status 429 if { sc2_gpc0_rate ge 3 }"
    assert "sc2" not in sections["s.free"]


def test_a_limit_that_is_to_be_learned_is_told() -> None:
    limit = ServiceLimit(adaptive=AdaptiveConcurrencyPolicy(least_ms=20.0))
    artifact = render(limited((80, 81), limit), HaproxyOptions(group=GROUP))
    told = [note.subject for note in artifact.notes if note.code == "limit_not_expressible"]
    assert told == ["service/web"]


def test_every_section_of_the_service_counts_and_no_other() -> None:
    artifact = render(limited((80, 81), RATE), HaproxyOptions(group=GROUP))
    text = dict(artifact.parts)["haproxy.cfg"].decode()
    sections = text.split("\n\n")
    counting = {one.split()[1] for one in sections if "track-sc1" in one}
    assert counting == {"s.web", "r.own"}
    assert text.count("backend l.web") == 1
    assert "limit_not_expressible" not in {note.code for note in artifact.notes}


def written(
    folder: Path,
    ports: tuple[int, int],
    limit: ServiceLimit | None,
    policies: tuple[Policy, ...] = (),
) -> None:
    options = HaproxyOptions(group=GROUP, socket=str(folder / "haproxy.sock"))
    live_proxies.write(folder, render(limited(ports, limit, policies=policies), options).parts)


def test_a_real_haproxy_keeps_a_rate(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    ports = tuple(free_ports(2))
    written(tmp_path, ports, RATE)
    with slow_service(ports[1]), live_proxies.haproxy(tmp_path, ports[0]):
        first = burst(ports[0], 30)
        assert 5 <= first.passed <= 6 + RATE_RPS * first.seconds, first
        assert first.refused == {429}
        found = passed(ports[0], 3, "/", "/own")
        record_property("passed_rps", max(found))
        assert max(found) >= 0.6 * RATE_RPS, found
        assert sum(found) <= 3.5 * RATE_RPS + 6, found
        assert not burst(ports[0], 30, "/free").refused


def test_a_real_haproxy_lets_so_many_through_at_once(tmp_path: Path) -> None:
    ports = tuple(free_ports(2))
    written(tmp_path, ports, ROOM)
    with slow_service(ports[1]) as held, live_proxies.haproxy(tmp_path, ports[0]):
        found = at_once(ports[0], 8, "/hold")
        assert max(accumulate(held)) == 3, held
        assert set(found) == {200, 503}
        assert at_once(ports[0], 3, "/hold") == {200: 3}


def test_a_real_haproxy_counts_each_address_apart(tmp_path: Path) -> None:
    ports = tuple(free_ports(2))
    written(tmp_path, ports, None, (EACH,))
    with slow_service(ports[1]), live_proxies.haproxy(tmp_path, ports[0]):
        for source in ("127.0.0.1", "127.0.0.2"):
            found = burst(ports[0], 20, source=source)
            assert 3 <= found.passed <= 4 + EACH_RPS * found.seconds, found
            assert found.refused == {429}
        assert not burst(ports[0], 20, "/free").refused
