"""Tables as routes: separators, quotes, places, columns, and what is refused."""

import pytest

from controlplane.api.route_documents import csv_cells
from controlplane.api.route_documents.csv_cells import rows
from controlplane.api.route_documents.formats import RouteFormat, read, write
from controlplane.api.route_documents.imports import Declared, Imported, ImportWish
from controlplane.domain.errors import Invalid
from controlplane.domain.routing.route import (
    Condition,
    Part,
    PathMatchType,
    Route,
    SlowQueue,
    TextMatchType,
    VersionWeight,
)
from controlplane.domain.topology import Fleet

DECLARED = Declared(services={"tickets": frozenset({"v1"})}, groups=frozenset({"edge"}))


def imported(text: str, **chosen: object) -> Imported:
    wish = ImportWish(declared=DECLARED, **chosen)  # type: ignore[arg-type]
    return read(text, RouteFormat.CSV, wish, now_s=0.0)


def routes(text: str, **chosen: object) -> list[Route]:
    found = imported(text, **{"service": "tickets", **chosen})
    assert found.findings.kept == []
    return [draft.route for draft in found.routes]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_what_spreadsheets_write_is_read(separator: str, end: str) -> None:
    lines = [
        separator.join(("\ufeffpath", "hosts", "service")),
        separator.join(("/a", '"a.example b.example"', "")),
        separator.join(("", "", "")),
        separator.join(("/b", "", "tickets")),
    ]
    found = routes(end.join(lines))
    assert [(r.id, r.hosts) for r in found] == [
        ("tickets.a", ("a.example", "b.example")),
        ("tickets.b", ("*",)),
    ]


def test_cells_know_their_places() -> None:
    found = rows('a,"b\n""c""", d\n\n"x",,y')
    assert [[(c.line, c.column, c.text) for c in row.cells] for row in found] == [
        [(1, 1, "a"), (1, 3, 'b\n"c"'), (2, 8, "d")],
        [(4, 1, "x"), (4, 5, ""), (4, 6, "y")],
    ]
    assert rows("") == []
    assert [cell.text for cell in rows("a,")[0].cells] == ["a", ""]


def test_without_match_a_path_is_exact_or_a_template() -> None:
    text = "path,match\n/a,\n/a/{b},\n/a/{b}.json,\n/c,PathPrefix\n/d.*,RegularExpression\n"
    assert [(r.path.type, r.path.value) for r in routes(text)] == [
        (PathMatchType.EXACT, "/a"),
        (PathMatchType.PATH_TEMPLATE, "/a/{b}"),
        (PathMatchType.REGULAR_EXPRESSION, r"/a/[^/]+\.json"),
        (PathMatchType.PATH_PREFIX, "/c"),
        (PathMatchType.REGULAR_EXPRESSION, "/d.*"),
    ]


def test_all_columns() -> None:
    cells = {
        "Path": "/a",
        "id": "one",
        "methods": "GET POST",
        "versions": "v1=10000",
        "conditions": '"header x-a Exact b c\ncookie k Present"',
        "sources": "10.0.0.0/8",
        "gateways": "edge",
        "priority": "7",
        "timeout_ms": "500",
        "retries": "0",
        "valid_until": "2030-01-01T00:00:00Z",
        "more": '"{""queue"": {""waiting"": 5}, ""labels"": {""a"": ""b""}}"',
    }
    text = f"{','.join(cells)}\n{','.join(cells.values())}\n"
    (route,) = routes(text)
    assert (route.id, route.methods, route.priority) == ("one", ("GET", "POST"), 7)
    assert (route.timeout_ms, route.retries, route.valid_until_s) == (500, 0, 1_893_456_000.0)
    assert route.versions == (VersionWeight(version="v1", weight=10_000),)
    assert route.conditions == (
        Condition(part=Part.COOKIE, name="k", type=TextMatchType.PRESENT),
        Condition(name="x-a", value="b c"),
    )
    assert (route.sources, route.gateways) == (("10.0.0.0/8",), ("edge",))
    assert (route.queue, route.labels) == (SlowQueue(waiting=5), (("a", "b"),))


def test_what_is_wrong_has_the_place_of_its_cell() -> None:
    text = """path,service,priority,conditions,more
/a,tickts,,,
/b,tickets,high,,
/c,tickets,,header,
/d,tickets,,,{
/e,tickets,,,[1]
/f,tickets,,,"{""priority"": 1}"
/g,tickets,,,"{""redirect"": {""status"": 301}}"
,tickets,1,,
/h,tickets
/ok,tickets,,,
"""
    found = imported(text)
    assert [draft.route.id for draft in found.routes] == ["tickets.ok"]
    assert [(f.line, f.column) for f in found.findings.kept[:7]] == [
        (4, 13),
        (5, 14),
        (6, 14),
        (7, 14),
        (9, 1),
        (10, 1),
        (2, 4),
    ]
    words = [finding.found for finding in found.findings.kept]
    assert words[0] == "'header'"
    assert words[1].startswith("no JSON: ")
    assert words[3] == "with the key 'priority'"
    assert words[4:6] == ["without a path", "2 cells"]
    assert words[6] == "'tickts'"


def test_a_redirect_needs_no_service() -> None:
    text = 'path,more\n/a,"{""redirect"": {""path"": ""/b""}}"\n'
    (route,) = routes(text)
    assert (route.service, route.redirect is not None) == ("", True)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("path,wrong\n", "line 1, column 6"),
        ("path,path\n", "line 1, column 1"),
        ("service\n", "line 1, column 1"),
        ('path\n/a\n"b" c\n', "line 3, column 1"),
        ('path\n/a"b\n', "line 2, column 1"),
    ],
)
def test_what_is_no_table_is_refused(text: str, place: str) -> None:
    with pytest.raises(Invalid) as error:
        imported(text)
    assert error.value.code == "route_file_unreadable"
    assert place in error.value.message


def test_a_table_has_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_cells, "MOST_NODES", 100)
    with pytest.raises(Invalid) as error:
        imported("path\n" + "/a\n" * 100)
    assert "line 101, column 1: more than 100 cells" in error.value.message


def test_an_export_of_nothing_is_its_first_row() -> None:
    exported = write([], RouteFormat.CSV, Fleet())
    assert exported.text.startswith("id,hosts,match,path,")
    assert routes(exported.text) == []
    assert routes("") == []
