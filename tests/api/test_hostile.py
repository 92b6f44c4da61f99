"""Hostile fleet documents: each fault is named with its place, and nothing else escapes."""

from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from controlplane.api.fleet_document.findings import MOST_FINDINGS
from controlplane.api.fleet_document.lookalikes import forms, odd_characters
from controlplane.api.fleet_document.parsing import parse
from controlplane.domain.errors import Invalid
from controlplane.domain.fleet_order import normalized
from controlplane.domain.topology import Fleet
from tests.api import hostile
from tests.api.hostile import BASE, Case

# What is not text, or too large a body, ends before the reader.
CASES = [
    case
    for case in hostile.cases()
    if case.code != "body_too_large" and case.name not in ("utf-16", "utf-32", "latin-1")
]
PIECES = [
    *(
        "&a ",
        "*a",
        "!!python/object:x ",
        "- ",
        "? ",
        ": ",
        "[",
        "]",
        "{",
        "}",
        ",",
        '"',
        "'",
        "|\n",
    ),
    *("\t", "\n", "\0", "\u0435", "\u200b", "\u202e", "\ud800", "1e400", ".nan", "-1", "0", "~"),
    *("%YAML 1.1\n", "---\n", "...\n", "#", "name", "datacenters", "\\u0000", "\\", "<<", "\ufeff"),
]


def refusal(text: str) -> Invalid:
    with pytest.raises(Invalid) as caught:
        parse(text)
    return caught.value


def test_the_sound_document_is_sound() -> None:
    assert parse(BASE).service("shop").static_shares == (("dc-east", 3.0), ("dc-west", 1.0))
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_is_refused_with_its_place_and_in_words_that_a_terminal_can_show(case: Case) -> None:
    error = refusal(case.body.decode(errors="surrogatepass"))
    assert error.code == case.code
    errors = error.details["errors"]
    assert isinstance(errors, list)
    assert 0 < len(errors) <= MOST_FINDINGS
    assert all(one["line"] > 0 and one["column"] > 0 for one in errors)
    assert all(one["message"].isprintable() and len(one["message"]) < 5_000 for one in errors)
    assert set(case.paths) <= {one["path"] for one in errors}
    said = "\n".join(one["message"] for one in errors)
    assert [word for word in case.words if word not in said] == []


def test_places_are_json_pointers_too() -> None:
    text = '{"datacenters": [{"name": "a", "role": "x", "re/g~": 1}], "routes": [{"id": "?"}]}'
    errors = refusal(text).details["errors"]
    assert isinstance(errors, list)
    assert {one["pointer"] for one in errors} == {
        "/datacenters/0/re~1g~0",
        "/datacenters/0/region",
        "/datacenters/0/role",
        "/routes/0",
        "/routes/0/id",
    }


def test_both_places_are_named_when_names_look_alike() -> None:
    text = BASE.replace("{name: dc-west,", "{name: DC-East,", 1)
    errors = refusal(text).details["errors"]
    assert isinstance(errors, list)
    (twin,) = [one for one in errors if one["path"] == "datacenters[1].name"]
    assert twin["line"] == 3
    assert twin["found"] == "'DC-East', which looks like 'dc-east' at datacenters[0].name (line 2)"


@pytest.mark.parametrize(
    ("one", "other"), [("dc-1", "dc-l"), ("dc-I", "dc-l"), ("web0", "webO"), ("a", "A")]
)
def test_names_of_the_same_strokes_share_a_form(one: str, other: str) -> None:
    assert set(forms(one)) & set(forms(other))


@pytest.mark.parametrize(("one", "other"), [("dc-1", "dc-2"), ("dc-i", "dc-l"), ("a-b", "a_b")])
def test_names_that_a_person_tells_apart_share_none(one: str, other: str) -> None:
    assert not set(forms(one)) & set(forms(other))


def test_few_odd_characters_are_told() -> None:
    assert odd_characters("plain") == ""
    assert odd_characters("\u0435" * 9).count("CYRILLIC") == 3
    assert odd_characters("a\x07") == "U+0007 a control character at character 2"


@pytest.mark.parametrize("leading", ["", "\t\n \t", "\ufeff"])
def test_json_may_begin_with_white_space(leading: str) -> None:
    text = '{\n\t"datacenters": [\t{"name": "a", "role": "primary", "region": "x"}]\n}'
    assert parse(leading + text).datacenters[0].name == "a"


@pytest.mark.parametrize("address", ["0.0.0.0", '"::"', "127.0.0.1", '"::1"', "10.0.0.1"])
def test_a_gateway_may_listen_on_every_address(address: str) -> None:
    fleet = parse(BASE.replace("listen_address: 127.0.0.1", f"listen_address: {address}"))
    assert fleet.gateways[0].listen_address == address.strip('"')


@pytest.mark.parametrize("path", ["/", "/a/b", "/a%20b", "/..a/.b", "/a.b/...", "/a%7Bb"])
def test_usual_paths_are_taken(path: str) -> None:
    fleet = parse(BASE.replace("value: /all", f'value: "{path}"'))
    assert fleet.routes[0].path.value == path


def read(text: str) -> Fleet | None:
    """The fleet of a document, None when it is refused; nothing else may come of it."""
    with suppress(Invalid):
        return parse(text)
    return None


@settings(max_examples=300, deadline=None)
@given(data=st.binary(max_size=400))
@example(data=b"\xef\xbb\xbf{}")
def test_random_bytes_raise_nothing_but_invalid(data: bytes) -> None:
    read(data.decode(errors="surrogateescape"))
    read(data.decode("latin-1"))


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_mutated_documents_raise_nothing_but_invalid(data: st.DataObject) -> None:
    text = BASE
    for _ in range(data.draw(st.integers(1, 6))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 30)))
        new = data.draw(st.sampled_from(PIECES) | st.just(text[start : end + 40]) | st.text())
        text = text[:start] + new + text[end:]
    fleet = read(text)
    assert fleet is None or fleet == normalized(fleet)
