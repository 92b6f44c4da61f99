"""What a fleet file may not say about routes, hosts and shares; each with its place."""

import pytest

from controlplane.api.fleet_document.parsing import parse
from controlplane.domain.errors import Invalid
from controlplane.domain.routing.route import PathMatch, PathMatchType
from tests.api.test_fleet_document import CENTERS, SERVICE, errors


def route(path: str, more: str = "") -> str:
    text = f"{{id: r, service: s, path: {{type: RegularExpression, value: '{path}'}}{more}}}"
    return f"{CENTERS}{SERVICE}routes:\n  - {text}\n"


@pytest.mark.parametrize(
    "path",
    ["/user/[0-9]+", "/a(?:b|c)?#", "/[[:alpha:]]+", r"/\pN+\z", r"/\Qa.b\E"],
)
def test_expressions_that_are_right_at_sight_are_taken(path: str) -> None:
    (found,) = parse(route(path)).routes
    assert found.path == PathMatch(type=PathMatchType.REGULAR_EXPRESSION, value=path)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/a((", "missing ): /a(( at character 3"),
        ("/a[b", "missing ]: [b at character 3"),
        ("/*+*", "bad repetition operator: *+ at character 2"),
        ("/a(?=b)", "invalid perl operator: (?= at character 3"),
        (r"/(a)\1", r"invalid escape sequence: \1 at character 5"),
        ("a.*", "'a.*'"),
        ("/" + "a" * 1024, "..."),
        ("/[a-z]{1000}" * 6, "a program of 6010 instructions"),
        ("/a{1001}", "invalid repetition size: {1001} at character 3"),
        ("/" + "(?:" * 300 + "(", "missing ): /(?:"),
    ],
)
def test_expressions_that_cannot_work_are_errors_with_a_place(path: str, found: str) -> None:
    (error,) = errors(route(path))
    assert error["path"] == "routes[0].path.value"
    assert found in str(error["found"])
    assert (error["line"], error["column"]) == (11, 64)


def test_a_host_twice_is_named_whatever_its_case() -> None:
    for hosts in ("'*', '*'", "a.example, a.example"):
        (error,) = errors(route("/a", f", hosts: [{hosts}]"))
        assert error["path"] == "routes[0].hosts[1]"
        assert "which stands at routes[0].hosts[0]" in str(error["found"])
    found = errors(route("/a", ", hosts: [a.example, A.example]"))
    assert {error["path"] for error in found} == {"routes[0].hosts[1]"}
    assert "lower case" in str(found[0]["allowed"])


def test_a_condition_twice_is_named_as_people_write_it() -> None:
    (error,) = errors(route("/a", ", conditions: [{name: x, value: b}, {name: x, value: b}]"))
    assert error["path"] == "routes[0].conditions[1]"
    assert str(error["found"]).startswith("'header x is b', which stands at")


def test_the_same_expression_on_the_same_host_is_named() -> None:
    text = route("/a+") + "  - {id: q, service: s, path: {type: RegularExpression, value: /a+}}\n"
    (error,) = errors(text)
    assert error["path"] == "routes[1]"


@pytest.mark.parametrize("shares", ["{a: 0}", "{a: 0, b: 0}", "{a: 0, b: 1}"])
def test_shares_without_a_positive_one_where_an_endpoint_is(shares: str) -> None:
    text = f"""{CENTERS}services:
  - name: s
    strategy: static
    clusters:
      - {{datacenter: a, capacity_rps: 5, endpoints: [{{address: 10.0.0.1, port: 80}}]}}
      - {{datacenter: b, capacity_rps: 5, endpoints: []}}
    static_shares: {shares}
"""
    with pytest.raises(Invalid):
        parse(text)
    (error,) = errors(text)
    assert error["path"] == "services[0].static_shares"
    assert error["line"] == 11
    assert "above 0 in a data centre where the service has endpoints" in str(error["allowed"])


def test_too_many_paths_beside_expressions_are_an_error() -> None:
    def text(beginning: str) -> str:
        lines = [
            f"  - {{id: p{n}, service: s, methods: [GET], path: {{value: /p{n}}}}}"
            for n in range(300)
        ]
        kind = "type: RegularExpression"
        lines += [
            f"  - {{id: x{n}, service: s, path: {{{kind}, value: '{beginning}{n}'}}}}"
            for n in range(200)
        ]
        return f"{CENTERS}{SERVICE}routes:\n" + "\n".join(lines)

    (error,) = errors(text("/[a-z]+/"))
    assert error["path"] == "routes"
    assert "on host * routes with short paths would stand 60000 times" in str(error["message"])
    assert len(parse(text("/own/[a-z]+/")).routes) == 500


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/a%2db", "the path in normal form, as /a-b"),
        ("/caf%c3%a9", "the path in normal form, as /caf%C3%A9"),
        ("/a%2Fb", "this one has an escaped slash or backslash"),
        ("/a|b", "this one has a character that no path may have"),
        ("/a/{b}", "a template has the type PathTemplate"),
    ],
)
def test_a_path_that_no_request_has_is_an_error(path: str, allowed: str) -> None:
    value = f"{{id: r, service: s, path: {{type: Exact, value: '{path}'}}}}"
    (error,) = errors(f"{CENTERS}{SERVICE}routes:\n  - {value}\n")
    assert error["path"] == "routes[0].path.value"
    assert allowed in str(error["allowed"])
