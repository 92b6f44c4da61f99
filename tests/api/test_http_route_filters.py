"""Filters of HTTPRoutes: header changes, rewrites, redirects, and every other that is refused."""

from dataclasses import replace

import pytest

from controlplane.domain.routing.route import HeaderChanges, Redirect, Rewrite
from tests.api.test_http_routes import imported, one, refused, resource, rule, said


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


@pytest.mark.parametrize(
    ("redirect", "words"),
    [
        ({"hostname": "a.example"}, "takes that of the listener"),
        ({"scheme": "https"}, "takes the scheme's usual one"),
        ({"scheme": "https", "hostname": "a.example"}, ""),
        ({"scheme": "https", "port": 443}, "takes the scheme's usual one"),
        ({"path": {"type": "ReplaceFullPath", "replaceFullPath": "/n"}}, ""),
    ],
)
def test_the_port_of_a_redirect_that_names_none_is_noted(
    redirect: dict[str, object], words: str
) -> None:
    filters = [{"type": "RequestRedirect", "requestRedirect": redirect}]
    told = said(imported(resource(rule(backendRefs=[], filters=filters))))
    assert ("the standard takes" in told) == bool(words)
    assert words in told


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
