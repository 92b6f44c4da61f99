"""OpenAPI and Swagger descriptions as routes: addresses, templates, services, ids, faults."""

import json
from dataclasses import replace
from importlib.resources import files

import pytest

from controlplane.api.route_documents import openapi
from controlplane.api.route_documents.documents import members
from controlplane.api.route_documents.formats import RouteFormat, read, write
from controlplane.api.route_documents.imports import Declared, Imported, ImportWish
from controlplane.domain.errors import Invalid
from controlplane.domain.routing.route import PathMatch, PathMatchType, Route
from controlplane.domain.topology import Fleet
from tests.routing import ticketing_api

DECLARED = Declared(services={"tickets": frozenset(), "order-desk": frozenset()})


def imported(text: str, **chosen: object) -> Imported:
    wish = ImportWish(declared=DECLARED, **chosen)  # type: ignore[arg-type]
    return read(text, RouteFormat.OPENAPI, wish, now_s=0.0)


def routes(text: str, **chosen: object) -> list[Route]:
    found = imported(text, **chosen)
    assert found.findings.kept == []
    return [draft.route for draft in found.routes]


def faults(text: str, **chosen: object) -> list[tuple[int, int, str, str]]:
    found = imported(text, **chosen)
    return [(f.line, f.column, f.found, f.allowed) for f in found.findings.kept]


def api(paths: str, head: str = "") -> str:
    return f"openapi: 3.0.3\n{head}\npaths:\n{paths}\n"


def one(paths: str, head: str = "", **chosen: object) -> Route:
    (route,) = routes(api(paths, head), **{"service": "tickets", **chosen})
    return route


@pytest.mark.parametrize(
    ("template", "kind", "value"),
    [
        ("/a/b", PathMatchType.EXACT, "/a/b"),
        ("/a/", PathMatchType.EXACT, "/a/"),
        ("/", PathMatchType.EXACT, "/"),
        ("/a/{b}", PathMatchType.PATH_TEMPLATE, "/a/{b}"),
        ("/{a}/{b}/c", PathMatchType.PATH_TEMPLATE, "/{a}/{b}/c"),
        ("/a/{order-id}/{2.x}", PathMatchType.PATH_TEMPLATE, "/a/{order_id}/{_2_x}"),
        ("/a/{b}.json", PathMatchType.REGULAR_EXPRESSION, r"/a/[^/]+\.json"),
        ("/a/{b}/{c}-{d}", PathMatchType.REGULAR_EXPRESSION, r"/a/[^/]+/[^/]+\-[^/]+"),
        ("/caf\u00e9/a b", PathMatchType.EXACT, "/caf%C3%A9/a%20b"),
        ("/a%2db%e9", PathMatchType.EXACT, "/a-b%E9"),
        ("/a^b/{c}", PathMatchType.PATH_TEMPLATE, "/a%5Eb/{c}"),
    ],
)
def test_a_path_becomes_what_clients_send(template: str, kind: PathMatchType, value: str) -> None:
    path = one(f"  {json.dumps(template)}: {{get: {{}}}}").path
    assert (path.type, path.value) == (kind, value)


@pytest.mark.parametrize(
    ("template", "allowed"),
    [
        ("/a//b", "without //"),
        ("/a/../b", "without . or .."),
        ("/a?b=c", "without ? and #"),
        ("/a/{b", "braces enclose one name"),
        ("/a/{b+}", "parameters named by"),
        ("/a/{}", "parameters named by"),
        ("/a/{b}/{b}", "another name for each parameter"),
        ("/a%2Fb", "an escaped slash"),
        ("a/b", "paths that begin with /"),
    ],
)
def test_a_path_that_cannot_be_is_left_out_with_its_place(template: str, allowed: str) -> None:
    found = imported(api(f"  {template!r}: {{get: {{}}}}\n  /ok: {{get: {{}}}}"), service="tickets")
    assert [draft.route.path.value for draft in found.routes] == ["/ok"]
    (finding,) = found.findings.kept
    assert (finding.line, finding.column) == (4, 3)
    assert allowed in finding.allowed


def test_methods_of_one_service_are_one_route_and_those_of_another_are_another() -> None:
    found = routes(
        api("""
  /a:
    summary: all
    parameters: []
    x-internal: true
    get: {tags: [Tickets]}
    post: {tags: [nobody, Order Desk]}
    trace: {tags: [tickets]}
""")
    )
    assert [(r.id, r.service, r.methods) for r in found] == [
        ("tickets.a", "tickets", ("GET", "TRACE")),
        ("order-desk.a", "order-desk", ("POST",)),
    ]


def test_what_has_no_service_is_left_out() -> None:
    text = api("  /a: {get: {}}\n  /b: {get: {tags: [other]}}\n  /c: {get: {tags: [tickets]}}")
    assert [(line, found) for line, _, found, _ in faults(text)] == [
        (4, "without a tag"),
        (5, "with the tags other"),
    ]
    assert [draft.route.id for draft in imported(text).routes] == ["tickets.c"]


@pytest.mark.parametrize(
    ("servers", "hosts", "path"),
    [
        ("", ("*",), "/a"),
        ("servers: [{url: /}]", ("*",), "/a"),
        ("servers: [{url: /v1/}]", ("*",), "/v1/a"),
        ("servers: [{url: 'https://API.example:8443/v1'}]", ("api.example",), "/v1/a"),
        (
            "servers: [{url: 'https://b.example'}, {url: 'http://a.example/'}]",
            ("a.example", "b.example"),
            "/a",
        ),
        (
            "servers: [{url: 'https://{z}.example/{v}', "
            "variables: {z: {default: x}, v: {default: v2}}}]",
            ("x.example",),
            "/v2/a",
        ),
    ],
)
def test_servers_say_hosts_and_base_path(servers: str, hosts: tuple[str, ...], path: str) -> None:
    route = one("  /a: {get: {}}", servers)
    assert (route.hosts, route.path.value) == (hosts, path)
    given = one("  /a: {get: {}}", servers, hosts=("mine.example",), gateways=())
    assert (given.hosts, given.path.value) == (("mine.example",), path)


def test_each_base_path_and_each_servers_of_its_own_is_a_route() -> None:
    text = api(
        """
  /a:
    get: {}
    put: {servers: [{url: 'https://put.example'}]}
  /b:
    servers: [{url: /b-only}]
    get: {}
""",
        "servers: [{url: /v1}, {url: /v2}]",
    )
    found = [(r.path.value, r.hosts, r.methods) for r in routes(text, service="tickets")]
    assert found == [
        ("/v1/a", ("*",), ("GET",)),
        ("/v2/a", ("*",), ("GET",)),
        ("/a", ("put.example",), ("PUT",)),
        ("/b-only/b", ("*",), ("GET",)),
    ]


@pytest.mark.parametrize(
    "servers",
    ["servers: [{url: 'https://{z}.example'}]", "servers: [{url: 'https://[x'}]", "servers: x"],
)
def test_without_its_hosts_nothing_is_imported(servers: str) -> None:
    found = imported(api("  /a: {get: {}}", servers), service="tickets")
    assert found.routes == ()
    assert found.findings.count == 1


def test_swagger_says_host_and_base_path() -> None:
    text = '{"swagger": "2.0", "host": "a.example:80", "basePath": "/v1/", "paths": %s}'
    (route,) = routes(text % '{"/x/{y}": {"get": {}}}', service="tickets")
    assert (route.hosts, route.path.value) == (("a.example",), "/v1/x/{y}")


def test_a_path_item_may_be_a_reference_within_the_file() -> None:
    text = api(
        """
  /a: {$ref: '#/components/pathItems/x~1y'}
  /b: {$ref: other.yaml}
  /c: {$ref: '#/components/pathItems/missing'}
""",
        "components: {pathItems: {x/y: {get: {}, head: {}}}}",
    )
    found = imported(text, service="tickets")
    assert [(d.route.id, d.route.methods) for d in found.routes] == [("tickets.a", ("GET", "HEAD"))]
    assert [f.line for f in found.findings.kept] == [6, 7]


def test_what_thousands_of_references_name_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading it for each took five minutes of a file of 400 KB."""
    reads = []
    monkeypatch.setattr(openapi, "members", lambda place: reads.append(1) or members(place))
    extensions = "".join(f", x-{n}: 1" for n in range(100))
    paths = "".join(f"  /a{n}: {{$ref: '#/paths/~1a{n + 1}'}}\n" for n in range(200))
    found = routes(api(f"{paths}  /a200: {{get: {{}}{extensions}}}"), service="tickets")
    # A reference to a reference names nothing: one step.
    assert [route.path.value for route in found] == ["/a199", "/a200"]
    assert len(reads) < 1_000


def test_a_reference_to_an_item_with_errors_is_left_out_too() -> None:
    text = api("  /a: {$ref: '#/paths/~1c'}\n  /b: {$ref: '#/paths/~1c'}\n  /c: {foo: {}}")
    found = imported(text, service="tickets")
    assert found.routes == ()
    assert "that of '#/paths/~1c', which has some" in {f.found for f in found.findings.kept}


def test_servers_times_paths_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openapi, "MOST_ROUTES", 30)
    servers = ", ".join(f"{{url: /v{n}}}" for n in range(8))
    paths = "\n".join(f"  /p{n}: {{get: {{}}}}" for n in range(8))
    with pytest.raises(Invalid) as caught:
        imported(api(paths, f"servers: [{servers}]"), service="tickets")
    assert caught.value.code == "route_file_too_complex"
    assert "line 7, column 3: more than 30 routes up to here" in caught.value.message


def test_an_unknown_method_is_left_out_whole() -> None:
    ((line, _, found, _),) = faults(api("  /a: {get: {}, query: {}}"), service="tickets")
    assert (line, found) == (4, "the method 'query'")


def test_security_is_a_note_told_once() -> None:
    text = api("  /a: {get: {security: []}}\n  /b: {get: {}}", "security: [{key: []}]")
    (note,) = imported(text, service="tickets").notes.all
    assert (note.line, note.count) == (2, 2)
    assert "security of operations is not imported" in note.message


def test_ids_that_look_alike_or_are_too_long_get_digits_that_stay() -> None:
    long = "/long/" + "x" * 70
    text = api(f"  /a1: {{get: {{}}}}\n  /al: {{get: {{}}}}\n  {long}: {{get: {{}}}}")
    names = [route.id for route in routes(text, service="tickets")]
    assert len(set(names)) == 3
    assert all(len(name) <= 63 for name in names)
    assert names[0].startswith("tickets.a1-")
    backwards = api(f"  {long}: {{get: {{}}}}\n  /al: {{get: {{}}}}\n  /a1: {{get: {{}}}}")
    assert sorted(names) == sorted(route.id for route in routes(backwards, service="tickets"))


def test_a_whitelist_names_the_hosts_and_leaves_expressions_out() -> None:
    text = api("  /a: {get: {}}\n  /{b}.json: {get: {}}", "servers: [{url: 'https://a.example'}]")
    found = imported(text, service="tickets", whitelist=True)
    assert [(w.id, w.hosts) for w in found.whitelists] == [("a.example", ("a.example",))]
    ((line, _, words, allowed),) = faults(text, service="tickets", whitelist=True)
    assert line == 5
    assert "the regular expression" in words
    assert "before regular expressions are asked" in allowed
    (every,) = imported(api("  /a: {get: {}}"), service="tickets", whitelist=True).whitelists
    assert (every.id, every.hosts) == ("every-host", ("*",))


def test_json_may_write_a_character_as_two_halves() -> None:
    text = '{"openapi": "3.1.0", "paths": {"/a": {"get": {"summary": "\\ud83d\\ude00 \\\\ud83d"}}}}'
    assert len(routes(text, service="tickets")) == 1


@pytest.mark.parametrize("text", ["openapi: 2.9", "paths: {}", "- a", "swagger: '3.0'"])
def test_what_is_no_description_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as error:
        imported(text)
    assert error.value.code == "route_file_unreadable"


def test_a_description_without_paths_has_no_routes() -> None:
    assert routes("openapi: 3.1.0") == []
    assert routes("openapi: 3.1.0\npaths:") == []
    assert routes("openapi: 3.1.0\npaths: {x-note: {get: {}}}") == []


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"path": PathMatch(value="/a")}, "PathPrefix"),
        ({"methods": ()}, "every method"),
        ({"methods": ("PROPFIND",)}, "no method propfind"),
        ({"hosts": ("*.a.example",)}, "no server *.a.example"),
        ({"gateways": ("edge",)}, "does not say gateways"),
        ({"valid_until_s": 1.0}, "does not say valid_until"),
    ],
)
def test_an_export_leaves_out_what_it_cannot_say(chosen: dict[str, object], words: str) -> None:
    text = "path,match,methods,service\n/a,Exact,GET,tickets\n"
    (draft,) = read(text, RouteFormat.CSV, ImportWish(declared=DECLARED), 0.0).routes
    route = replace(draft.route, **chosen)  # type: ignore[arg-type]
    exported = write([route], RouteFormat.OPENAPI, Fleet())
    (note,) = exported.notes
    assert note.left_out
    assert words in note.message
    assert "/a" not in exported.text


def test_an_export_has_one_operation_for_each_path_and_method() -> None:
    text = "id,path,methods,service\na,/x/{a},GET POST,tickets\nb,/x/{b},PUT,tickets\n"
    text += "c,/x/{a},GET,order-desk\nd,/x/{a},PUT,tickets\n"
    found = read(text, RouteFormat.CSV, ImportWish(declared=DECLARED), 0.0)
    exported = write([draft.route for draft in found.routes], RouteFormat.OPENAPI, Fleet())
    assert [(note.subject, note.left_out) for note in exported.notes] == [
        ("route/b", True),
        ("route/c", True),
    ]
    assert [draft.route.id for draft in imported(exported.text).routes] == ["a", "d"]


def test_the_example_is_what_its_seed_makes_and_imports_whole() -> None:
    text = files("data").joinpath("routes", "ticketing-openapi.yaml").read_text(encoding="utf-8")
    assert text == ticketing_api.document()
    assert len(routes(text)) == ticketing_api.PATHS


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (" " * 5_000_001, "route_file_too_large"),
        ("openapi: 3.1.0\nx: " + "[" * 40 + "]" * 40, "route_file_too_complex"),
    ],
)
def test_files_have_limits(text: str, code: str) -> None:
    with pytest.raises(Invalid) as error:
        imported(text)
    assert error.value.code == code
    assert "route file" in error.value.message


def test_a_key_twice_is_a_finding_and_what_is_half_a_character_stays() -> None:
    text = api("  /a: {get: {}}\n  /a: {put: {}}", 'info: {title: "\\\\ud83d\\\\udexx"}')
    assert [(line, found) for line, _, found, _ in faults(text, service="tickets")] == [
        (5, "here again")
    ]
