import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.canonical import decode, digest, encode
from controlplane.domain.errors import Invalid
from controlplane.domain.guardrails.ledger import Forecast, Ledger, Pair
from controlplane.domain.guardrails.state import GuardState
from controlplane.domain.topology import Fleet
from tests.builders import fleet


class Color(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    name: str
    size: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    color: Color
    leaves: tuple[Leaf, ...] = ()
    pair: tuple[str, int] = ("a", 1)
    weights: Mapping[str, int] = field(default_factory=dict)
    note: str | None = None
    best: Leaf | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A field that must be given and may be None."""

    value: float | None
    name: str


FULL = Tree(
    color=Color.RED,
    leaves=(Leaf(name="ä", size=0.1), Leaf(name="b")),
    pair=("x", 7),
    weights={"b": 2, "a": 1},
    note="hi",
    best=Leaf(name="c", size=1e300),
)


@pytest.mark.parametrize("value", [FULL, Tree(color=Color.RED)])
def test_there_and_back(value: Tree) -> None:
    assert decode(Tree, encode(value)) == value
    assert encode(decode(Tree, encode(value))) == encode(value)


def test_bytes_are_canonical() -> None:
    assert encode({"b": [1], "a": "ä"}) == '{"a":"ä","b":[1]}'.encode()
    assert encode(Leaf(name="x", size=0.1)) == b'{"name":"x","size":0.1}'
    assert "note" not in json.loads(encode(Tree(color=Color.RED)))


def test_a_mapping_in_any_order_gives_the_same_bytes() -> None:
    one = Tree(color=Color.RED, weights={"a": 1, "b": 2})
    other = Tree(color=Color.RED, weights={"b": 2, "a": 1})
    assert encode(one) == encode(other)


def test_not_a_number_comes_back_as_such() -> None:
    back = decode(Leaf, encode(Leaf(name="x", size=math.nan)))
    assert math.isnan(back.size)


def test_an_integer_in_the_bytes_of_a_float_is_a_float() -> None:
    back = decode(Leaf, b'{"name":"x","size":1}')
    assert isinstance(back.size, float)


@pytest.mark.parametrize(
    "data",
    [
        b"not json",
        b"[]",
        b"{}",
        b'{"color":"blue"}',
        b'{"color":"red","unknown":1}',
        b'{"color":"red","pair":["a"]}',
        b'{"color":"red","leaves":3}',
        b'{"color":"red","weights":[]}',
        b"\xff",
    ],
)
def test_bytes_of_another_shape_are_invalid(data: bytes) -> None:
    with pytest.raises(Invalid) as caught:
        decode(Tree, data)
    assert caught.value.code == "stored_value_unreadable"
    assert "Tree" in caught.value.message


def test_the_digest_is_sha256() -> None:
    assert digest(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_a_fleet_comes_back() -> None:
    assert decode(Fleet, encode(fleet())) == fleet()


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=6))
def test_state_of_the_guards_comes_back_bit_for_bit(times: list[float]) -> None:
    state = GuardState(changes_s=tuple(times), previous=(0.1 + 0.2, 0.7))
    assert decode(GuardState, encode(state)) == state


def test_a_field_without_default_may_be_none() -> None:
    for reading in (Reading(value=None, name="a"), Reading(value=1.5, name="a")):
        assert decode(Reading, encode(reading)) == reading
    with pytest.raises(Invalid):
        decode(Reading, b'{"value": 1.0}')


def test_the_memory_of_a_model_without_answers_comes_back() -> None:
    """Else nothing that such a model decided could be read again, and no start after it."""
    forecast = Forecast(
        time_s=1.0, shares=(0.5, 0.5), predicted_ms=None, persisted_ms=50.0, span=0.0
    )
    pair = Pair(time_s=2.0, predicted_ms=None, realised_ms=50.0, persisted_ms=50.0, span=0.0)
    state = GuardState(ledger=Ledger(model="m", pending=forecast, pairs=(pair,)))
    assert decode(GuardState, encode(state)) == state


@dataclass(frozen=True, slots=True, kw_only=True)
class Sparse:
    SPARSE: ClassVar[bool] = True

    name: str
    leaf: Leaf = Leaf(name="usual")
    sizes: tuple[int, ...] = ()
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Grown:
    SPARSE: ClassVar[tuple[str, ...]] = ("later",)

    first: int = 1
    later: bool = False


def test_a_field_that_came_later_is_left_out_alone() -> None:
    assert encode(Grown()) == b'{"first":1}'
    assert encode(Grown(later=True)) == b'{"first":1,"later":true}'
    for value in (Grown(), Grown(first=2, later=True)):
        assert decode(Grown, encode(value)) == value


def test_a_sparse_value_leaves_out_what_has_its_default() -> None:
    assert encode(Sparse(name="")) == b'{"name":""}'
    told = Sparse(name="a", leaf=Leaf(name="b"), sizes=(1,), note="c")
    for value in (Sparse(name="a"), told):
        assert decode(Sparse, encode(value)) == value
    assert encode((Sparse(name="a", leaf=Leaf(name="b", size=0.0)),)) == (
        b'[{"leaf":{"name":"b","size":0.0},"name":"a"}]'
    )
