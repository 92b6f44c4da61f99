"""What a proxy sends is read as the request that it is about."""

import ipaddress

import pytest

from controlplane.domain.routing.matching.normalization import Refusal
from controlplane.domain.routing.matching.request import Request
from gateway.forward_auth.questions import Call, Dialect, Question, question

TRUSTED = (ipaddress.ip_network("127.0.0.0/8"),)
FOR = ("X-Forwarded-For", "203.0.113.7")


def asked(call: Call) -> Request:
    found = question(call, TRUSTED)
    assert isinstance(found, Question)
    assert isinstance(found.request, Request)
    return found.request


def call(target: str, *headers: tuple[str, str], method: str = "GET") -> Call:
    return Call(method=method, target=target, headers=headers, peer="127.0.0.1")


CALLS = {
    Dialect.ENVOY: call("/envoy/seats/7?day=2", ("Host", "Shop.Example"), FOR, method="PUT"),
    Dialect.AUTH_REQUEST: call(
        "/auth-request",
        ("Host", "Shop.Example"),
        ("X-Original-Method", "PUT"),
        ("X-Original-URI", "/seats/7?day=2"),
        FOR,
    ),
    Dialect.FORWARD_AUTH: call(
        "/forward-auth",
        ("Host", "127.0.0.1:18003"),
        ("X-Forwarded-Method", "PUT"),
        ("X-Forwarded-Host", "Shop.Example"),
        ("X-Forwarded-Uri", "/seats/7?day=2"),
        FOR,
    ),
}


@pytest.mark.parametrize("dialect", Dialect)
def test_all_proxies_ask_about_the_same_request(dialect: Dialect) -> None:
    found = question(CALLS[dialect], TRUSTED)
    assert found is not None
    assert found.dialect is dialect
    request = asked(CALLS[dialect])
    assert (request.method, request.host) == ("PUT", "shop.example")
    assert (request.path, request.query) == ("/seats/7", "day=2")
    assert request.source == "203.0.113.7"


def test_the_client_is_the_last_address_that_no_trusted_proxy_has() -> None:
    forged = ("X-Forwarded-For", "10.9.9.9, 203.0.113.7, 127.0.0.2")
    assert asked(call("/envoy/", forged)).source == "203.0.113.7"
    stranger = Call(method="GET", target="/envoy/", headers=(FOR,), peer="198.51.100.1")
    assert asked(stranger).source == "198.51.100.1"


def test_headers_of_the_request_are_there_and_those_of_the_call_are_not() -> None:
    request = asked(
        call(
            "/forward-auth",
            ("X-Forwarded-Method", "GET"),
            ("X-Forwarded-Uri", "/"),
            ("X-Forwarded-Host", "shop.example"),
            ("Cookie", "a=1"),
            ("Content-Length", "0"),
        )
    )
    assert request.cookies == {"a": "1"}
    assert request.headers["host"] == "shop.example"
    assert not {"x-forwarded-uri", "x-forwarded-method", "content-length"} & set(request.headers)


def test_a_path_without_a_normal_form_is_a_refusal() -> None:
    found = question(call("/envoy/a%2fb/%00"), TRUSTED)
    assert found is not None
    assert isinstance(found.request, Refusal)


@pytest.mark.parametrize(
    "target", ["/", "/envoy", "/auth-request", "/forward-auth", "/forward-auth/x"]
)
def test_anything_else_is_no_question(target: str) -> None:
    assert question(call(target), TRUSTED) is None
