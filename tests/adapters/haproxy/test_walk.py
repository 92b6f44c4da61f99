"""A real HAProxy walks its map over several parameters as our matcher does."""

import contextlib
import http.client
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.route_tables_planes import FORMS, running
from benchmarks.route_tables_rules import drawn
from controlplane.domain.routing.matching.normalization import normalized
from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.matching.table import Table
from controlplane.domain.routing.route import FixedResponse

SEED = 7
URLS = 400


def near(url: str, rng: random.Random) -> Iterator[str]:
    """Targets that are, begin or end like one that a rule matches."""
    yield from (url, f"{url}/", f"{url}/more", url.rpartition("/")[0], url[: rng.randrange(1, 90)])
    yield re.sub("/[^/]+", lambda found: found[0] if rng.random() < 0.8 else "/other", url)
    yield url.replace("/", "//", 1)


def test_the_walk_ends_where_our_matcher_does(tmp_path: Path) -> None:
    form = next(form for form in FORMS if (form.plane, form.way) == ("haproxy", "table"))
    rules = drawn(URLS, SEED, with_parameters=0.6)
    named = tuple(
        replace(route, response=FixedResponse(status=200, body=route.id)) for route in rules.routes
    )
    table = Table.of(named)
    rng = random.Random(SEED)
    targets = [target for url in rules.urls[:URLS] for target in near(url, rng)]
    found = []
    with running(form, replace(rules, routes=named), tmp_path / "one") as one:
        asked = http.client.HTTPConnection("127.0.0.1", one.port, timeout=10)
        with contextlib.closing(asked):
            for target in targets:
                asked.request("GET", target)
                found.append(asked.getresponse().read().decode())
    wanted = []
    for target in targets:
        path = normalized(target)
        assert isinstance(path, str)
        route = table.match(Request(path=path), 0.0).route
        wanted.append(route.id if route is not None else "")
    assert "concat(/,txn.k)" in (tmp_path / "one" / "haproxy.cfg").read_text()
    assert sum(map(bool, wanted)) > len(targets) / 3
    assert [what for what in zip(targets, wanted, found, strict=True) if what[1] != what[2]] == []
