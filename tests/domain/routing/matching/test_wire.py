"""The table on the wire."""

import json
import random
from typing import Any

import pytest

from controlplane.domain.errors import Invalid
from controlplane.domain.routing.matching.table import Table
from controlplane.domain.routing.matching.wire import decoded, encoded
from tests.domain.routing.drawn import routed
from tests.routing.suite import suite

NOW_S = 1_900_000_000.0


def test_there_and_back_with_the_same_bytes_in_any_order() -> None:
    drawn = suite(NOW_S)
    table = Table.of(drawn.routes, drawn.whitelists)
    data = encoded(table)
    assert decoded(data) == table
    assert encoded(decoded(data)) == data
    shuffled = random.Random(1).sample(drawn.routes, len(drawn.routes))
    assert encoded(Table.of(shuffled, drawn.whitelists)) == data


def test_a_table_of_nothing() -> None:
    assert decoded(encoded(Table.of([]))) == Table.of([])


def changed(**changes: Any) -> bytes:
    document = json.loads(encoded(Table.of([routed("a", "/a/b"), routed("e", "~/e")])))
    document["hosts"]["*"]["tree"] |= changes.pop("tree", {})
    return json.dumps(document | changes).encode()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"{}", "stored_value_unreadable"),
        (b"\xff", "stored_value_unreadable"),
        (changed(format=2), "route_table_unreadable"),
        (changed(routes=[]), "route_table_unreadable"),
        (changed(routes=[{"id": "a", "functions": [{"name": "no"}]}]), "route_table_unreadable"),
        (changed(tree={"nodes": []}), "route_table_unreadable"),
        (changed(tree={"nodes": [{"children": {"a": 0}}]}), "route_table_unreadable"),
        (changed(tree={"nodes": [{"rest": ["a"], "prefix": [0]}]}), "route_table_unreadable"),
        (changed(tree={"depths": [1]}), "route_table_unreadable"),
    ],
)
def test_bytes_that_do_not_fit_are_invalid(data: bytes, code: str) -> None:
    with pytest.raises(Invalid) as caught:
        decoded(data)
    assert caught.value.code == code
