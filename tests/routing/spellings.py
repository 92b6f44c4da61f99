"""Nasty spellings of paths: each must meet the rule for its normal form, or be refused."""

from collections.abc import Iterator

from controlplane.domain.routing.matching.normalization import LONGEST_PATH
from controlplane.domain.routing.route import FixedResponse, PathMatch, PathMatchType, Route
from tests.routing.tables import Sent

HOST = "spelled.example.com"


def _answering(name: str, kind: PathMatchType, value: str, host: str = HOST) -> Route:
    path = PathMatch(type=kind, value=value)
    return Route(id=name, hosts=(host,), path=path, response=FixedResponse(status=200, body=name))


SPELLED = (
    _answering("spelled-admin", PathMatchType.PATH_PREFIX, "/admin"),
    _answering("spelled-login", PathMatchType.EXACT, "/otn/login"),
    _answering("spelled-login-slash", PathMatchType.EXACT, "/otn/login/"),
    _answering("spelled-user", PathMatchType.PATH_TEMPLATE, "/users/{id}/orders"),
    _answering("spelled-number", PathMatchType.REGULAR_EXPRESSION, "/n/[0-9]+"),
    _answering("spelled-space", PathMatchType.EXACT, "/a%20b"),
    _answering("spelled-umlaut", PathMatchType.EXACT, "/caf%C3%A9"),
    _answering("spelled-signs", PathMatchType.EXACT, "/a;b=c,d:e@f!$&'()*+"),
    _answering("spelled-percent", PathMatchType.EXACT, "/100%25"),
    _answering("spelled-listed", PathMatchType.EXACT, "/listed", "listed.example.com"),
    _answering("spelled-closed", PathMatchType.EXACT, "/listed", "closed.example.com"),
)

# What is done to a path -> paths.
_SPELLINGS: dict[str, tuple[str, ...]] = {
    "normal": (
        "/admin", "/admin/", "/admin/x", "/admin?x=1", "/adminx", "/otn/login", "/otn/login/",
        "/otn/login/x", "/users/7/orders", "/users/7/orders/", "/users/orders", "/n/12", "/n/12x",
        "/a%20b", "/caf%C3%A9", "/a;b=c,d:e@f!$&'()*+", "/100%25", "/", "/nothing",
    ),
    "case": ("/Admin", "/ADMIN/x", "/OTN/login", "/a%20B"),
    "escaped": ("/%61dmin", "/adm%69n/x", "/otn%2Dx", "/otn/logi%6E", "/users/%37/orders",
                "/n/%31%32", "/%7Eadmin", "/otn/%6c%6f%67%69%6e"),
    "escape-case": ("/caf%c3%a9", "/caf%C3%a9", "/%6fTN", "/otn/%6Cogin"),
    "reserved": ("/a%3Bb=c,d:e@f!$&'()*+", "/admin%3Fx", "/admin%23", "/admin%3Bx", "/a+b"),
    "twice": ("/%2561dmin", "/admin/%252e%252e/x", "/100%2525", "/otn%252Flogin"),
    "slashes": ("//admin", "/admin//x", "///admin///", "/otn//login", "/otn/login//",
                "//spelled.example.com/admin", "/users//orders", "/users/7//orders"),
    "dots": ("/./admin", "/x/../admin", "/admin/..", "/admin/../otn/login", "/otn/./login",
             "/otn/login/.", "/otn/x/../login/", "/users/7/../8/orders", "/admin/.", "/n/./12"),
    "dots-above": ("/../admin", "/../../otn/login", "/.."),
    "dots-escaped": ("/%2e/admin", "/x/%2e%2e/admin", "/x/.%2E/admin", "/x/%2e./otn/../admin",
                     "/admin/%2e%2e/otn/login"),
    "dots-slashes": ("/otn//../admin", "/x//..//admin", "/x/..//admin"),
    "dots-many": ("/.../admin", "/admin/...", "/..admin", "/admin..", "/.admin"),
    "semicolon": ("/admin;x=1", "/x/..;/admin", "/;/admin", "/admin/;/x"),
    "query": ("/admin?/../otn/login", "/otn/login?", "/otn/login?a=/admin", "/otn/login??x",
              "/nothing?x=//../admin"),
    "slash-escaped": ("/admin%2Fx", "/otn%2flogin", "/%2Fadmin", "/x%2F..%2Fadmin"),
    "backslash": ("/admin\\x", "\\admin", "/x\\..\\admin"),
    "backslash-escaped": ("/admin%5Cx", "/x%5c..%5cadmin"),
    "control": ("/admin%00", "/%00/admin", "/admin%0a", "/admin%0D%0Ax", "/admin%7F", "/admin%1f"),
    "escape-broken": ("/admin%", "/admin%2", "/admin%zz", "/%u0061dmin", "/admin%%61", "/a%g0"),
    "non-ascii": ("/caf\xc3\xa9", "/caf\xe9", "/admin\xff", "/\xc0\xaeadmin"),
    "not-allowed": ("/a{b}", "/a|b", '/a"b', "/a<b>", "/a^b", "/a`b", "/a[b]"),
    "fragment": ("/admin#x", "/otn/login#"),
    "long": (f"/admin/{'x' * 4_000}", f"/admin/{'x/' * 1_000}"),
    "longest": (f"/admin/{'x' * (LONGEST_PATH - 7)}",),
    "too-long": (f"/admin/{'x' * LONGEST_PATH}", f"/{'%61' * (LONGEST_PATH // 3 + 1)}"),
}  # fmt: skip


def spellings() -> Iterator[tuple[str, Sent]]:
    """Kind of spelling and a request; on whitelisted hosts each must be refused or be listed."""
    for kind, targets in _SPELLINGS.items():
        for target in targets:
            yield kind, Sent(target=target, host=HOST)
    for kind, target in (
        ("normal", "/listed"),
        ("escaped", "/%6cisted"),
        ("slashes", "//listed"),
        ("dots", "/x/../listed"),
        ("case", "/LISTED"),
        ("slash-escaped", "/x%2f..%2flisted"),
        ("twice", "/%256cisted"),
        ("semicolon", "/listed;x"),
        ("query", "/listed?x=/y"),
        ("query", "/other?x=/listed"),
        ("dots-many", "/listed..."),
    ):
        yield kind, Sent(target=target, host="closed.example.com")
