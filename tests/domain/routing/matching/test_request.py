"""How a request is read."""

from controlplane.domain.routing.matching.normalization import Refusal
from controlplane.domain.routing.matching.request import Request


def test_a_request_is_read_in_normal_form() -> None:
    headers = (("X-A", "1"), ("x-a", "2"), ("Cookie", "a=1"), ("cookie", "b=2"))
    request = Request.of("//a?x=1?y", "POST", "Shop.Example.com:80", headers, "10.0.0.1")
    assert isinstance(request, Request)
    assert (request.path, request.query) == ("/a", "x=1?y")
    assert (request.method, request.host) == ("POST", "shop.example.com")
    assert request.headers == {"x-a": "1,2", "cookie": "a=1; b=2"}
    assert request.source == "10.0.0.1"


def test_a_path_without_normal_form_is_no_request() -> None:
    assert isinstance(Request.of("/a%2Fb"), Refusal)


def test_the_first_cookie_and_the_first_argument_count() -> None:
    request = Request(
        path="/", query="a=1&b&a=2&&c=&d=e=f", headers={"cookie": "a=1; a=2;b = 3 ; junk; c=d=e"}
    )
    assert request.query_params == {"a": "1", "b": "", "c": "", "d": "e=f"}
    assert request.cookies == {"a": "1", "b ": " 3", "c": "d=e"}
    assert Request(path="/").cookies == {}


def test_only_blanks_and_tabs_around_a_cookie_do_not_count() -> None:
    """Data planes know no other white space; a name behind it is another name."""
    request = Request(path="/", headers={"cookie": "\ta=1 ;\u00a0b=2;\x85c=3\u2003"})
    assert request.cookies == {"a": "1", "\u00a0b": "2", "\x85c": "3\u2003"}
