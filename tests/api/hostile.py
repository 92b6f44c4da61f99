"""Fleet documents that mean harm or are badly wrong, with what each must be answered.

Shared by the tests of the reader and by the acceptance test, which sends them to a real server.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

BASE = """\
datacenters:
  - {name: dc-east, role: primary, region: east}
  - {name: dc-west, role: same-city, region: west}
services:
  - name: shop
    clusters:
      - {datacenter: dc-east, capacity_rps: 500, endpoints: [{address: 10.0.0.1, port: 80}]}
      - {datacenter: dc-west, capacity_rps: 400, endpoints: [{address: 10.0.1.1, port: 81}]}
    static_shares: {dc-east: 3, dc-west: 1}
    alarm_cpu: 0.8
gateways:
  - {name: edge, listen_address: 127.0.0.1, listen_port: 10000}
routes:
  - {id: everything, service: shop, path: {value: /all}, hosts: [a.example]}
"""
EAST, WEST = "{name: dc-east,", "{name: dc-west,"
ADDRESS, PORT, CAPACITY = "10.0.0.1", "port: 80}", "capacity_rps: 500"
AT_ENDPOINT = "services[0].clusters[0].endpoints[0]"
AT_CAPACITY = "services[0].clusters[0].capacity_rps"
AT_PATH = "routes[0].path.value"
INVALID, COMPLEX, UNREADABLE = "fleet_invalid", "fleet_too_complex", "fleet_unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One document.

    Attributes:
        paths: each must be named by an error. words: each must be said by an error.
    """

    name: str
    body: bytes
    code: str = INVALID
    paths: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


def swapped(name: str, old: str, new: str, path: str, *words: str) -> Case:
    """The sound document with one thing changed."""
    assert BASE.count(old) >= 1
    text = BASE.replace(old, new, 1)
    return Case(name=name, body=text.encode(), paths=(path,), words=words)


def whole(name: str, text: str, code: str = INVALID, *words: str) -> Case:
    """A document of its own."""
    return Case(name=name, body=text.encode(errors="surrogatepass"), code=code, words=words)


def cases() -> list[Case]:
    """Every document."""
    return [*_twins(), *_alike(), *_numbers(), *_addresses(), *_types(), *_large(), _many()]


def _twins() -> Iterator[Case]:
    first = "datacenters[0].name (line 2)"
    yield swapped("data centre twice", WEST, EAST, "datacenters[1].name", first)
    again = "  - name: shop\n"
    yield swapped("service twice", "gateways:", f"{again}gateways:", "services[1].name", "line 5")
    yield swapped("gateway twice", "routes:", "  - {name: edge}\nroutes:", "gateways[1].name")
    route = "  - {id: everything, service: shop, path: {value: /b}}\n"
    yield swapped("route twice", "routes:\n", f"routes:\n{route}", "routes[1].id", "routes[0].id")
    yield swapped(
        "cluster twice",
        "datacenter: dc-west",
        "datacenter: dc-east",
        "services[0].clusters[1]",
        "services[0].clusters[0]",
    )
    yield swapped("key twice", "region: east", "region: east, region: x", "datacenters[0].region")
    yield swapped("section twice", "gateways:", "services: []\ngateways:", "services", "after line")
    twice = '{"datacenters": [], "datacenters": [{"name": "a", "name": "b"}]}'
    yield Case(name="JSON keys twice", body=twice.encode(), paths=("datacenters",))


def _alike() -> Iterator[Case]:
    alike = {
        "case": "DC-EAST",
        "Cyrillic": "dc-\u0435ast",
        "full width": "\uff44\uff43-east",
        "zero width": "dc\u200b-east",
        "joiner": "dc-ea\u2060st",
        "direction mark": "\u202edc-east",
        "combining mark": "dc-e\u0301ast",
        "precomposed": "dc-\u00e9ast",
        "other dash": "dc\u2010east",
        "capital I for l": "shop",
    }
    for kind, name in alike.items():
        if kind != "capital I for l":
            new = f'{{name: "{name}",'
            yield swapped(
                f"alike by {kind}", WEST, new, "datacenters[1].name", "datacenters[0].name (line 2)"
            )
    routes = "routes:\n  - {id: l1ne, service: shop, path: {value: /b}}\n"
    routes += "  - {id: lIne, service: shop, path: {value: /c}}\n"
    yield swapped("alike by strokes", "routes:\n", routes, "routes[1].id", "routes[0].id")
    yield swapped(
        "Cyrillic reference",
        "service: shop",
        "service: sh\u043ep",
        "routes[0].service",
        "CYRILLIC SMALL LETTER O at character 3",
        "did you mean shop?",
    )
    yield whole("Cyrillic key", BASE.replace("routes:", "r\u043eutes:"), INVALID, "U+043E")
    yield swapped("Cyrillic host", "a.example", "\u0430.example", "routes[0].hosts[0]", "U+0430")


def _numbers() -> Iterator[Case]:
    for value in ("0", "-5", "-0.0", ".nan", "NaN", ".inf", "1e400", "-1e400", "1e10", "010"):
        new = f"capacity_rps: {value}"
        yield swapped(f"capacity {value}", CAPACITY, new, AT_CAPACITY, "a number above 0")
    digits = f"capacity_rps: {'9' * 100_000}"
    yield swapped("capacity of many digits", CAPACITY, digits, AT_CAPACITY)
    yield swapped("capacity as text", CAPACITY, 'capacity_rps: "500"', AT_CAPACITY)
    at_share = "services[0].static_shares.dc-east"
    for value in ("-1", ".nan", "1e400"):
        yield swapped(f"weight {value}", "dc-east: 3", f"dc-east: {value}", at_share)
    yield swapped(
        "weights all zero",
        "{dc-east: 3, dc-west: 1}",
        "{dc-east: 0, dc-west: 0}",
        "services[0].static_shares",
        "at least one share above 0",
    )
    yield swapped("level above one", "alarm_cpu: 0.8", "alarm_cpu: 80", "services[0].alarm_cpu")
    for value in ("0", "-1", "65536", "80.5", "1e3", "9" * 30, "0x50", "2026-11-30", "[80]"):
        port = f"port: {value}}}"
        yield swapped(f"port {value}", PORT, port, f"{AT_ENDPOINT}.port", "1..65535")
    for value in ("0", "65536"):
        port = f"listen_port: {value}"
        yield swapped(f"listen {port}", "listen_port: 10000", port, "gateways[0].listen_port")


def _addresses() -> Iterator[Case]:
    senseless = ("0.0.0.0", '"::"', "255.255.255.255", "224.0.0.1", '"ff02::1"', "240.0.0.1")
    odd = ('" 10.0.0.1"', '"10.0.0.1\\n"', "10.0.0.01", "10.0.0", "host.example", '"fe80::1%eth0"')
    odd += ('"::ffff:10.0.0.1"', '"10.0.0.1\\0"', "\uff11\uff10.0.0.1", "16909060", "10.0.0.1:80")
    for value in senseless + odd:
        yield swapped(f"address {value}", ADDRESS, value, f"{AT_ENDPOINT}.address")
    group = "listen_address: 239.0.0.1"
    old = "listen_address: 127.0.0.1"
    yield swapped("listen on a group", old, group, "gateways[0].listen_address")
    paths = ("a", "/a/../b", "/..", "/a/./b", "/a//b", "/%2e%2E/b", "/%zz", "/%", "/a%00b", "/a%7f")
    paths += ('"/a\\tb"', '"/a\\r\\nHost: x"', '"/a b"', '"/a\\\\b"', "/\u00e9", '"/a?b"', '"/a#b"')
    for value in (*paths, '""', "[/a]", "/" + "a" * 2_000):
        yield swapped(f"path {value[:20]}", "value: /all", f"value: {value}", AT_PATH)
    at_check = "services[0].health_check.path"
    check = "    alarm_cpu: 0.8\n    health_check: {path: /../etc}\n"
    yield swapped("check path", "    alarm_cpu: 0.8\n", check, at_check, "without //")
    for value in ('""', "A.example", "a..example", "a.example.", "*", '"a.example:80"', "a b"):
        if value != "*":
            yield swapped(f"host {value}", "a.example", value, "routes[0].hosts[0]")


def _types() -> Iterator[Case]:
    tags = {"python": "!!python/object/apply:os.system [x]", "binary": "!!binary aGk="}
    tags |= {"timestamp": "!!timestamp 2001-12-14", "own": "!x y", "set": "!!set {a}"}
    for name, text in tags.items():
        new = BASE.replace("name: shop", f"name: {text}")
        yield whole(f"tag {name}", new, INVALID, "tagged")
    for value in ("[]", "{}", "~", '""', "&a", "a b", "x" * 64, '"a\\u0000b"', ".inf"):
        yield swapped(f"name {value[:8]}", "name: shop", f"name: {value}", "services[0].name")
    yield swapped("role as a list", "role: primary", "role: [primary]", "datacenters[0].role")
    for text in ("5", "[]", "a: [", "\t- a", "%YAML 9.9\n--- {}", "\0", "\u0085\ufffe", "{a: *b}"):
        code = INVALID if text in ("5", "[]") else UNREADABLE
        yield whole(f"document {text!r}", text, code)
    yield whole("two documents", f"{BASE}---\n{BASE}", UNREADABLE, "a second document")
    yield whole("half a pair", 'datacenters: "\ud800"', UNREADABLE)
    for encoding in ("utf-16", "utf-32", "latin-1"):
        data = BASE.replace("shop", "sh\u00f6p").encode(encoding)
        yield Case(name=encoding, body=data, code=UNREADABLE, words=("UTF-8",))


def _large() -> Iterator[Case]:
    laughs = ["a0: &a0 [x]"]
    laughs += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    yield whole("billion laughs", "\n".join(laughs), COMPLEX, "values")
    aliases = "a: &a x\nb: [" + "*a," * 1_000_000 + "]"
    yield whole("a million aliases", aliases, COMPLEX, "aliases")
    anchors = "".join(f"- &a{i} x\n" for i in range(300_000))
    yield whole("many anchors", anchors, COMPLEX)
    yield whole("an alias of itself", "a: &a [*a]", UNREADABLE, "no anchor")
    keys = "".join(f"{i:x}:\n" for i in range(1_000_000))
    yield whole("a million keys", keys[:4_900_000], COMPLEX, "values")
    yield whole("a million keys in JSON", json.dumps(dict.fromkeys(range(310_000))), COMPLEX)
    for name, text in {"{a: ": "{a: ", "? ": "? ", "- ": "- "}.items():
        yield whole(f"depth of {name}", text * 1_000_000, COMPLEX, "deeper")
    yield whole("depth of [", "[" * 4_900_000, UNREADABLE, "maximum nesting depth")
    yield whole("a huge text", f"datacenters: '{'x' * 4_900_000}'")
    yield whole("a huge key", f"? '{'x' * 4_900_000}'\n: 1")
    yield whole("a huge name", BASE.replace("shop", "x" * 2_400_000))
    yield whole("a huge anchor", f"&{'a' * 4_900_000} x")
    yield whole("empty lists", f"datacenters: [{'[],' * 1_600_000}]", COMPLEX)
    yield whole("tabs", "{" + "\t" * 2_000_000 + '"a": [' + "1,\t" * 900_000 + "1]}", COMPLEX)
    yield whole("comments", "#\n" * 2_400_000)
    yield whole("too many bytes", "x" * 5_000_001, "body_too_large")


def _many() -> Case:
    """Just within the limits, and nothing in it right."""
    services = "".join(f"  - {{name: c{i}, region: y}}\n" for i in range(15_000))
    routes = "".join(f"  - {{id: r, service: c{i}x}}\n" for i in range(34_000))
    text = f"datacenters: []\nroutes:\n{routes}services:\n{services}"
    return Case(name="many errors", body=text.encode(), words=("a value is required",))
