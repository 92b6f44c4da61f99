"""Gateway API HTTPRoutes as routes: matches, filters, backends, limits, and what is refused."""

import json
from dataclasses import replace
from importlib.resources import files

import pytest

from controlplane.api.route_documents.formats import RouteFormat, read, write
from controlplane.api.route_documents.http_route_backends import parts
from controlplane.api.route_documents.http_route_export import duration
from controlplane.api.route_documents.imports import Declared, Imported, ImportWish
from controlplane.domain.errors import Invalid
from controlplane.domain.routing.route import (
    Cohort,
    CohortKey,
    Condition,
    FixedResponse,
    HeaderChanges,
    Part,
    PathMatch,
    PathMatchType,
    Redirect,
    Rewrite,
    Route,
    TextMatchType,
    VersionWeight,
)
from controlplane.domain.topology import Fleet

DECLARED = Declared(
    services={"tickets": frozenset({"v1", "v2"}), "orders": frozenset()},
    groups=frozenset({"edge"}),
)
EXPRESSION = TextMatchType.REGULAR_EXPRESSION


def imported(text: str, **chosen: object) -> Imported:
    wish = ImportWish(declared=DECLARED, **chosen)  # type: ignore[arg-type]
    return read(text, RouteFormat.HTTP_ROUTE, wish, now_s=0.0)


def resource(rules: str, more: str = "", name: str = "shop") -> str:
    return f"""
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: {name}}}
spec:
  {more or "hostnames: []"}
  rules: {rules}
"""


def rule(**members: object) -> str:
    return json.dumps([{"backendRefs": [{"name": "tickets", "port": 80}], **members}])


def routes(text: str, **chosen: object) -> list[Route]:
    found = imported(text, **chosen)
    assert found.findings.kept == []
    return [draft.route for draft in found.routes]


def one(**members: object) -> Route:
    (route,) = routes(resource(rule(**members)))
    return route


def refused(**members: object) -> str:
    """What is allowed where the rule is wrong."""
    found = imported(resource(rule(**members)))
    assert found.routes == ()
    return " | ".join(f"{f.found}; {f.allowed}" for f in found.findings.kept)


def test_a_rule_without_matches_has_every_path() -> None:
    route = one()
    assert (route.id, route.service, route.path) == ("shop.01.01", "tickets", PathMatch())
    assert route.hosts == ("*",)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ({}, PathMatch()),
        ({"value": "/a/"}, PathMatch(value="/a")),
        ({"type": "PathPrefix", "value": "/a/b"}, PathMatch(value="/a/b")),
        ({"type": "Exact", "value": "/a/"}, PathMatch(type=PathMatchType.EXACT, value="/a/")),
        (
            {"type": "RegularExpression", "value": "/a/[0-9]+"},
            PathMatch(type=PathMatchType.REGULAR_EXPRESSION, value="/a/[0-9]+"),
        ),
    ],
)
def test_paths(path: dict[str, str], expected: PathMatch) -> None:
    assert one(matches=[{"path": path}]).path == expected


def test_headers_and_query_parameters_are_conditions() -> None:
    route = one(
        matches=[
            {
                "headers": [
                    {"name": "X-A", "value": "1"},
                    {"name": "x-b", "value": "1.*", "type": "RegularExpression"},
                    {"name": "x-c", "value": ".*", "type": "RegularExpression"},
                ],
                "queryParams": [{"name": "Q", "value": "v"}],
            }
        ]
    )
    assert route.conditions == (
        Condition(name="x-a", value="1"),
        Condition(name="x-b", type=EXPRESSION, value="1.*"),
        Condition(name="x-c", type=TextMatchType.PRESENT),
        Condition(part=Part.QUERY_PARAM, name="Q", value="v"),
    )


def test_of_two_conditions_of_one_name_the_first_counts_and_a_note_says_so() -> None:
    headers = [{"name": "x-a", "value": "1"}, {"name": "X-A", "value": "2"}]
    found = imported(resource(rule(matches=[{"headers": headers}])))
    assert found.routes[0].route.conditions == (Condition(name="x-a", value="1"),)
    assert "the first counts" in found.notes.all[0].message


def test_matches_that_differ_in_the_method_only_are_one_route() -> None:
    matches = [
        {"path": {"value": "/a"}, "method": "POST"},
        {"path": {"value": "/b"}},
        {"path": {"value": "/a"}, "method": "GET"},
        {"path": {"value": "/a"}},
    ]
    found = routes(resource(rule(matches=matches)))
    assert [(r.id, r.path.value, r.methods) for r in found] == [
        ("shop.01.01", "/a", ("GET", "POST")),
        ("shop.01.02", "/b", ()),
        ("shop.01.03", "/a", ()),
    ]


def test_header_filters_set_and_remove() -> None:
    changes = {"set": [{"name": "X-A", "value": "1"}], "remove": ["X-B"]}
    route = one(
        filters=[
            {"type": "RequestHeaderModifier", "requestHeaderModifier": changes},
            {"type": "ResponseHeaderModifier", "responseHeaderModifier": {"remove": ["server"]}},
        ]
    )
    assert route.request_headers == HeaderChanges(set=(("x-a", "1"),), remove=("x-b",))
    assert route.response_headers == HeaderChanges(remove=("server",))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ({"type": "ReplaceFullPath", "replaceFullPath": "/new"}, Rewrite(path="/new")),
        ({"type": "ReplacePrefixMatch", "replacePrefixMatch": "/b/"}, Rewrite(prefix="/b")),
        ({"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}, Rewrite(prefix="/")),
        ({"type": "ReplacePrefixMatch", "replacePrefixMatch": ""}, Rewrite(prefix="/")),
    ],
)
def test_rewrites(path: dict[str, str], expected: Rewrite) -> None:
    filters = [{"type": "URLRewrite", "urlRewrite": {"hostname": "in.example", "path": path}}]
    route = one(matches=[{"path": {"value": "/a"}}], filters=filters)
    assert route.rewrite == replace(expected, host="in.example")


@pytest.mark.parametrize(
    ("redirect", "expected"),
    [
        ({"scheme": "https", "statusCode": 301}, Redirect(status=301, scheme="https")),
        ({"scheme": "https", "port": 443}, Redirect(scheme="https")),
        ({"hostname": "a.example", "port": 8443}, Redirect(host="a.example:8443")),
        (
            {"path": {"type": "ReplaceFullPath", "replaceFullPath": "/n"}, "statusCode": 308},
            Redirect(status=308, path="/n"),
        ),
    ],
)
def test_redirects(redirect: dict[str, object], expected: Redirect) -> None:
    route = one(backendRefs=[], filters=[{"type": "RequestRedirect", "requestRedirect": redirect}])
    assert (route.redirect, route.service) == (expected, "")


MODIFIED = {"set": [{"name": "x-a", "value": "1"}]}
HEADERS = "RequestHeaderModifier"


@pytest.mark.parametrize(
    ("filters", "words"),
    [
        ([{"type": "RequestMirror", "requestMirror": {}}], "the filter 'RequestMirror'"),
        ([{"type": "CORS", "cors": {}}], "the filter 'CORS'"),
        ([{"type": "ExtensionRef", "extensionRef": {}}], "the filter 'ExtensionRef'"),
        ([{"type": "Unheard"}], "the filter 'Unheard'"),
        ([{"type": HEADERS}], "requestHeaderModifier beside this type"),
        ([{"type": HEADERS, "requestHeaderModifier": MODIFIED}] * 2, "again"),
        (
            [{"type": HEADERS, "requestHeaderModifier": {"add": [{"name": "a", "value": "b"}]}}],
            "add no second value",
        ),
        (
            [{"type": HEADERS, "requestHeaderModifier": {**MODIFIED, "remove": ["X-A"]}}],
            "set and removed: x-a",
        ),
        (
            [{"type": HEADERS, "requestHeaderModifier": {"set": [{"name": "a"}, {"name": "A"}]}}],
            "the header 'a' again",
        ),
        (
            [{"type": "URLRewrite", "urlRewrite": {"path": {"type": "ReplaceFullPath"}}}],
            "with replaceFullPath",
        ),
        ([{"type": "RequestRedirect", "requestRedirect": {"scheme": "https"}}], "not both"),
    ],
)
def test_a_rule_with_a_filter_that_cannot_be_said_is_left_out(
    filters: list[dict[str, object]], words: str
) -> None:
    assert words in refused(filters=filters)


@pytest.mark.parametrize(
    ("redirect", "words"),
    [
        ({"port": 8443}, "a hostname beside a port"),
        ({"scheme": "ftp"}, "http or https"),
        ({"scheme": "https", "statusCode": 399}, "one of 301"),
        (
            {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}},
            "no part of a path",
        ),
    ],
)
def test_a_redirect_that_cannot_be_said_is_left_out(
    redirect: dict[str, object], words: str
) -> None:
    filters = [{"type": "RequestRedirect", "requestRedirect": redirect}]
    assert words in refused(backendRefs=[], filters=filters)


def test_a_prefix_is_replaced_beside_prefixes_only() -> None:
    path = {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/b"}
    filters = [{"type": "URLRewrite", "urlRewrite": {"path": path}}]
    matches = [{"path": {"type": "Exact", "value": "/a"}}]
    assert "PathPrefix only" in refused(matches=matches, filters=filters)


def test_redirect_and_rewrite_exclude_each_other() -> None:
    filters = [
        {"type": "URLRewrite", "urlRewrite": {"hostname": "a.example"}},
        {"type": "RequestRedirect", "requestRedirect": {"scheme": "https"}},
    ]
    assert "either a RequestRedirect or" in refused(backendRefs=[], filters=filters)


def backends(*references: dict[str, object]) -> list[Route]:
    return routes(resource(rule(backendRefs=list(references))))


def test_backends_called_as_versions_are_versions_with_their_weights() -> None:
    (route,) = backends({"name": "tickets-v1", "weight": 2}, {"name": "tickets-v2"})
    assert (route.service, route.cohort) == ("tickets", None)
    assert route.versions == (
        VersionWeight(version="v1", weight=6667),
        VersionWeight(version="v2", weight=3333),
    )
    (whole,) = backends({"name": "tickets-v1", "weight": 3}, {"name": "orders", "weight": 0})
    assert whole.versions == (VersionWeight(version="v1", weight=10_000),)


def test_shares_of_services_are_drawn_for_each_request() -> None:
    found = backends({"name": "tickets", "weight": 1}, {"name": "orders", "weight": 3})
    cohort = Cohort(by=CohortKey.REQUEST, low=0, high=2500)
    assert [(r.id, r.service, r.cohort) for r in found] == [
        ("shop.01.01.01", "tickets", cohort),
        ("shop.01.01.02", "orders", None),
    ]


def test_a_share_that_rounds_to_nothing_is_no_route() -> None:
    (route,) = backends({"name": "orders"}, {"name": "tickets", "weight": 1_000_000})
    assert (route.service, route.cohort) == ("tickets", None)


@pytest.mark.parametrize("references", [[], [{"name": "tickets", "weight": 0}]])
def test_without_a_backend_the_answer_is_500(references: list[dict[str, object]]) -> None:
    (route,) = backends(*references)
    assert route.response == FixedResponse(status=500)


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ({"name": "unknown"}, "the unknown backend 'unknown'"),
        ({"name": "tickets-v3"}, "the unknown backend"),
        ({"kind": "ServiceImport", "name": "tickets"}, "of the kind Service"),
        ({"group": "x.example", "name": "tickets"}, "of the kind Service"),
        ({"name": "tickets", "filters": [{"type": "CORS"}]}, "filters of the rule"),
        ({"name": "tickets", "weight": -1}, "a whole number"),
        ({}, "the unknown backend ''"),
    ],
)
def test_a_rule_whose_backend_cannot_be_is_left_out(
    reference: dict[str, object], words: str
) -> None:
    assert words in refused(backendRefs=[reference, {"name": "orders"}])


def test_weights_become_parts_that_sum_to_all() -> None:
    assert parts([1, 1, 1]) == [3334, 3333, 3333]
    assert parts([0, 5]) == [0, 10_000]
    assert sum(parts([7, 11, 13, 17])) == 10_000


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("10s", 10_000), ("1m30s", 90_000), ("250ms", 250), ("1h", 3_600_000), ("0s", 3_600_000)],
)
def test_durations(text: str, milliseconds: int) -> None:
    assert one(timeouts={"request": text}).timeout_ms == milliseconds
    assert text == "0s" or one(timeouts={"request": duration(milliseconds)}).timeout_ms == (
        milliseconds
    )


@pytest.mark.parametrize("text", ["10", "-1s", "1.5s", "100000s", "2h"])
def test_what_is_no_duration_or_too_long_is_left_out(text: str) -> None:
    assert refused(timeouts={"request": text})


def test_what_gets_lost_is_noted() -> None:
    members = {
        "timeouts": {"request": "1s", "backendRequest": "1s"},
        "retry": {"attempts": 2, "codes": [503], "backoff": "1s"},
        "sessionPersistence": {"type": "Cookie"},
    }
    found = imported(resource(rule(**members)))
    assert found.routes[0].route.retries == 2
    words = " ".join(note.message for note in found.notes.all)
    for lost in ("timeouts.backendRequest", "retry.codes", "retry.backoff", "sessionPersistence"):
        assert lost in words


def test_parents_are_the_groups_that_are_called_so() -> None:
    known = resource(rule(), "parentRefs: [{name: edge, sectionName: web}]")
    found = imported(known)
    assert found.routes[0].route.gateways == ("edge",)
    assert "every listener" in found.notes.all[0].message
    unknown = imported(resource(rule(), "parentRefs: [{name: outer}]"))
    assert unknown.routes[0].route.gateways == ()
    assert "no group of gateways is called 'outer'" in unknown.notes.all[0].message
    chosen = imported(resource(rule(), "parentRefs: [{name: outer}]"), gateways=("edge",))
    assert (chosen.routes[0].route.gateways, chosen.notes.all) == (("edge",), ())


def test_a_mesh_parent_leaves_the_resource_out() -> None:
    found = imported(resource(rule(), "parentRefs: [{kind: Service, name: tickets}]"))
    assert found.routes == ()
    assert "Gateway; a mesh" in found.findings.kept[0].allowed


def test_a_bad_rule_is_left_out_and_the_others_come() -> None:
    rules = json.dumps(
        [
            {"backendRefs": [{"name": "tickets"}], "unknown": 1},
            {"matches": [{"path": {"value": "/ok"}}], "backendRefs": [{"name": "orders"}]},
        ]
    )
    found = imported(resource(rules))
    assert [draft.route.id for draft in found.routes] == ["shop.02.01"]
    assert "an unknown key 'unknown'" in found.findings.kept[0].found


def test_several_documents_and_lists_and_other_kinds() -> None:
    inner = json.dumps(
        {
            "apiVersion": "gateway.networking.k8s.io/v1beta1",
            "kind": "HTTPRoute",
            "metadata": {"name": "listed", "namespace": "shop"},
            "spec": {"rules": json.loads(rule())},
            "status": {"parents": []},
        }
    )
    text = f"{resource(rule())}---\n{{apiVersion: v1, kind: List, items: [{inner}]}}\n---\n"
    text += "{apiVersion: v1, kind: Service, metadata: {name: x}}\n"
    found = imported(text)
    assert [draft.route.id for draft in found.routes] == ["shop.01.01", "shop.listed.01.01"]
    (note,) = found.notes.all
    assert note.path == "document 3.kind"
    assert "'Service' is left alone" in note.message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("apiVersion: gateway.networking.k8s.io/v2\nkind: HTTPRoute", "networking.k8s.io/v1"),
        ("apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute", "metadata with a name"),
        (resource(rule(), "hostnames: [A.example]"), "a host name in lower case"),
        (resource(rule(), "other: 1"), "parentRefs, hostnames"),
        (resource(rule(matches=[{"path": {"type": "PathTemplate"}}])), "Exact, PathPrefix or"),
        (
            resource(rule(matches=[{"headers": [{"type": "Prefix", "name": "a", "value": "b"}]}])),
            "Exact or RegularExpression",
        ),
    ],
)
def test_a_resource_that_cannot_be_is_left_out(text: str, words: str) -> None:
    found = imported(text)
    assert found.routes == ()
    assert words in " ".join(finding.allowed for finding in found.findings.kept)


def test_what_is_no_resource_is_refused() -> None:
    with pytest.raises(Invalid) as error:
        imported("spec: {}")
    assert error.value.code == "route_file_unreadable"


def test_an_export_leaves_out_what_it_cannot_say() -> None:
    plain = Route(id="Plain_1", service="tickets")
    cases = {
        "cookie k Exact": {"conditions": (Condition(part=Part.COOKIE, name="k", value="v"),)},
        "header h Absent": {"conditions": (Condition(name="h", type=TextMatchType.ABSENT),)},
        "one condition for each name": {
            "conditions": (Condition(name="h", value="a"), Condition(name="h", value="b"))
        },
        "no method PROPFIND": {"methods": ("PROPFIND",)},
        "no fixed response": {"service": "", "response": FixedResponse()},
        "up to 16 hostnames": {"hosts": ("*", "a.example")},
        "no name of a Gateway": {"gateways": ("Edge",)},
        "does not say authentication": {"authentication": ("keys",), "priority": 3},
    }
    for words, members in cases.items():
        exported = write([replace(plain, **members)], RouteFormat.HTTP_ROUTE, Fleet())  # type: ignore[arg-type]
        (note,) = exported.notes
        assert (note.left_out, exported.text) == (True, "")
        assert words in note.message


def test_an_export_says_what_it_writes_otherwise() -> None:
    template = PathMatch(type=PathMatchType.PATH_TEMPLATE, value="/a/{b}")
    routes = [
        Route(id="Plain_1", service="tickets", path=template),
        Route(id="b", service="tickets", priority=3, labels=(("a", "b"),)),
    ]
    exported = write(routes, RouteFormat.HTTP_ROUTE, Fleet())
    assert [note.left_out for note in exported.notes] == [False, False]
    assert "/a/{b} is written as a regular expression" in exported.notes[0].message
    assert "priority, labels" in exported.notes[1].message
    assert "name: plain-1-" in exported.text
    names = [draft.route.id for draft in imported(exported.text).routes]
    assert names == ["Plain_1", "b"]


def test_the_example_has_three_routes_and_one_mirror() -> None:
    text = files("data").joinpath("routes", "httproutes.yaml").read_text(encoding="utf-8")
    found = imported(text)
    assert len(found.routes) == 3
    assert [finding.line for finding in found.findings.kept] == [32]
