"""Gateway API HTTPRoutes as routes: matches, filters, backends, limits, and what is refused."""

import json
from importlib.resources import files

import pytest

from controlplane.api.route_documents.formats import RouteFormat, read
from controlplane.api.route_documents.http_route_backends import parts
from controlplane.api.route_documents.http_route_export import duration
from controlplane.api.route_documents.imports import Declared, Imported, ImportWish
from controlplane.domain.errors import Invalid
from controlplane.domain.routing.route import (
    Cohort,
    CohortKey,
    Condition,
    FixedResponse,
    Part,
    PathMatch,
    PathMatchType,
    Route,
    TextMatchType,
    VersionWeight,
)

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


def said(found: Imported) -> str:
    """The notes on an import."""
    return " | ".join(note.message for note in found.notes.all)


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
    assert "the first counts" in said(found)


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


def test_what_gets_lost_of_a_backend_is_noted() -> None:
    backend = {"name": "tickets", "namespace": "shop", "port": 8080}
    lost = said(imported(resource(rule(backendRefs=[backend]))))
    assert "a backend's port is not kept" in lost
    assert "a backend's namespace is not kept" in lost
    shares = [{"name": "tickets", "weight": 1_000_000}, {"name": "orders", "weight": 1}]
    assert "a share below 1 of 10,000" in said(imported(resource(rule(backendRefs=shares))))


def test_parents_are_the_groups_that_are_called_so() -> None:
    known = resource(rule(), "parentRefs: [{name: edge, sectionName: web}]")
    found = imported(known)
    assert found.routes[0].route.gateways == ("edge",)
    assert "every listener" in said(found)
    unknown = imported(resource(rule(), "parentRefs: [{name: outer}]"))
    assert unknown.routes[0].route.gateways == ()
    assert "no group of gateways is called 'outer'" in said(unknown)
    chosen = imported(resource(rule(), "parentRefs: [{name: outer}]"), gateways=("edge",))
    assert chosen.routes[0].route.gateways == ("edge",)
    assert "group" not in said(chosen)
    lost = said(imported(resource(rule())))
    assert "without parentRefs the route is on all groups" in lost
    assert "without parentRefs" not in said(imported(resource(rule()), gateways=("edge",)))
    spaced = imported(resource(rule(), "parentRefs: [{name: edge, namespace: infra}]"))
    assert "groups of gateways have no namespaces" in said(spaced)


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
    note = found.notes.all[-1]
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


def test_the_example_has_three_routes_and_one_mirror() -> None:
    text = files("data").joinpath("routes", "httproutes.yaml").read_text(encoding="utf-8")
    found = imported(text)
    assert len(found.routes) == 3
    assert [finding.line for finding in found.findings.kept] == [32]
