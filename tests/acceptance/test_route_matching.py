"""Must-show lines of the matcher: property tests against a naive reference."""

import random
from collections.abc import Callable

from controlplane.domain.radix.invariants import faults
from controlplane.domain.routing.matching.normalization import Refusal
from controlplane.domain.routing.matching.table import Table
from controlplane.domain.routing.matching.wire import decoded, encoded
from tests.routing.naive_matcher import winner
from tests.routing.tables import route, sent

NOW_S = 1_900_000_000.0
TABLES = 1_000
REQUESTS_OF_A_TABLE = 4
MOST_ROUTES = 20
HOSTS = ("x.example.com", "*.example.com", "*")
ASKED = ("x.example.com", "y.example.com", "other.example.org")


def test_random_tables_agree_with_a_naive_matcher(
    record_property: Callable[[str, object], None],
) -> None:
    """1. Property tests: 1,000 random tables and requests agree with a naive reference matcher;
    shuffled insertion gives the same winner and reason; insert then remove gives the identical
    tree."""
    requests = routes_found = 0
    for seed in range(TABLES):
        rng = random.Random(seed)
        routes = [
            route(rng, f"r{at:02}", HOSTS, NOW_S) for at in range(rng.randint(1, MOST_ROUTES))
        ]
        table = Table.of(routes)
        shuffled = Table.of(())
        for each in rng.sample(routes, len(routes)):
            shuffled = shuffled.with_route(each)
        assert shuffled == table
        for _ in range(REQUESTS_OF_A_TABLE):
            request = sent(rng, routes, ASKED).read()
            assert not isinstance(request, Refusal)
            found = table.match(request, NOW_S)
            assert found.route == winner(routes, request, NOW_S), (seed, request)
            assert shuffled.match(request, NOW_S) == found
            requests += 1
            routes_found += found.route is not None
        guest = route(rng, "guest", HOSTS, NOW_S)
        assert table.with_route(guest).without_route(guest) == table
        if seed % 10 == 0:
            assert all(not faults(host.tree) for host in table.hosts.values())
            assert decoded(encoded(table)) == table
    record_property("tables", TABLES)
    record_property("requests", requests)
    record_property("requests_with_a_route", routes_found)
