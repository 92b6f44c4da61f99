"""Requests that two readers take differently, as raw bytes."""

import random

HEAD = b"Host: shop.example\r\n"
POST = b"POST /a HTTP/1.1\r\n" + HEAD
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


def get(target: bytes = b"/a", lines: bytes = b"") -> bytes:
    return b"GET %b HTTP/1.1\r\n%b%b\r\n" % (target, HEAD, lines)


REFUSED = {
    "length and chunks": POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks and length": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
    "two equal lengths": POST + b"Content-Length: 4\r\nContent-Length: 4\r\n\r\nabcd",
    "two lengths": POST + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
    "list of lengths": POST + b"Content-Length: 4, 4\r\n\r\nabcd",
    "signed length": POST + b"Content-Length: +4\r\n\r\nabcd",
    "negative length": POST + b"Content-Length: -1\r\n\r\n",
    "hexadecimal length": POST + b"Content-Length: 0x4\r\n\r\nabcd",
    "length with a space": POST + b"Content-Length: 4 4\r\n\r\nabcd",
    "folded header": get(lines=b"X-A: b\r\n c\r\n"),
    "folded coding": POST + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "bare line feeds": b"GET /a HTTP/1.1\nHost: shop.example\n\n",
    "one bare line feed": b"GET /a HTTP/1.1\r\nHost: shop.example\nX-A: b\r\n\r\n",
    "bare carriage return": get(lines=b"X-A: b\rX-B: c\r\n"),
    "chunk size of letters": CHUNKED + b"zz\r\nabc\r\n0\r\n\r\n",
    "chunk size with 0x": CHUNKED + b"0x3\r\nabc\r\n0\r\n\r\n",
    "negative chunk size": CHUNKED + b"-3\r\nabc\r\n0\r\n\r\n",
    "endless chunk size": CHUNKED + b"fffffffffffffffff\r\nabc\r\n0\r\n\r\n",
    "chunks with line feeds": CHUNKED + b"3\nabc\n0\n\n",
    "line feed in an extension": CHUNKED + b"3;a\nb\r\nabc\r\n0\r\n\r\n",
    "chunk longer than it says": CHUNKED + b"3\r\nabcdef\r\n0\r\n\r\n",
    "space in a chunk size": CHUNKED + b"3 3\r\nabc\r\n0\r\n\r\n",
    "unknown coding": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "coding behind chunks": POST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "coding before chunks": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "chunks twice": POST + b"Transfer-Encoding: chunked\r\n" * 2 + b"\r\n0\r\n\r\n",
    "coding behind a tab": POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    "space before the colon": POST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "chunks in HTTP/1.0": CHUNKED.replace(b"1.1", b"1.0") + b"0\r\n\r\n",
    "absolute form": get(b"http://inner.example/a"),
    "asterisk": b"OPTIONS * HTTP/1.1\r\n" + HEAD + b"\r\n",
    "authority": b"CONNECT inner.example:80 HTTP/1.1\r\n" + HEAD + b"\r\n",
    "no slash": get(b"a"),
    "no host": b"GET /a HTTP/1.1\r\n\r\n",
    "two hosts": get(lines=b"Host: inner.example\r\n"),
    "host with a path": b"GET /a HTTP/1.1\r\nHost: x/y\r\n\r\n",
    "host with a user": b"GET /a HTTP/1.1\r\nHost: x@y\r\n\r\n",
    "NUL in a value": get(lines=b"X-A: a\x00b\r\n"),
    "NUL in a name": get(lines=b"X\x00A: b\r\n"),
    "NUL in a path": get(b"/a\x00b"),
    "escaped NUL": get(b"/a%00b"),
    "escaped slash": get(b"/a%2fb"),
    "escaped backslash": get(b"/a%5Cb"),
    "backslash": get(b"/a\\b"),
    "broken escape in a path": get(b"/a%zz"),
    "broken escape at the end": get(b"/a%2"),
    "broken escape in a query": get(b"/a?b=%zz"),
    "fragment": get(b"/a#b"),
    "bytes in a path": get("/\u00e4".encode()),
    "bytes in a query": get("/a?b=\u00e4".encode()),
    "Latin-1 in a header": get(lines=b"X-A: \xe4\r\n"),
    "control in a header": get(lines=b"X-A: a\x01b\r\n"),
    "empty name": get(lines=b": b\r\n"),
    "line before the headers": b"GET /a HTTP/1.1\r\n Host: x\r\n\r\n",
    "header too large": get(lines=b"X-A: %b\r\n" % (b"a" * 9_000)),
    "headers too large": get(lines=b"".join(b"X-%d: %b\r\n" % (n, b"a" * 7_000) for n in range(9))),
    "too many headers": get(lines=b"".join(b"X-%d: b\r\n" % n for n in range(200))),
    "path too long": get(b"/" + b"a" * 9_000),
    "protected by Connection": get(lines=b"Connection: X-Forwarded-For, close\r\n"),
    "cookie by Connection": get(lines=b"Cookie: a=1\r\nConnection: Cookie\r\n"),
    "upgrade to HTTP/2": get(lines=b"Connection: Upgrade\r\nUpgrade: h2c\r\n"),
    "unknown expectation": POST + b"Expect: cake\r\n\r\n",
    "HTTP/0.9": b"GET /a\r\n\r\n",
    "HTTP/1.2": get().replace(b"1.1", b"1.2"),
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "small method": get().replace(b"GET", b"get"),
    "tabs": b"GET\t/a\tHTTP/1.1\r\n" + HEAD + b"\r\n",
    "body too large": POST + b"Content-Length: 99999999999\r\n\r\n",
    "length beyond numbers": POST + b"Content-Length: %b\r\n\r\n" % (b"9" * 40),
    "behind a good one": POST + b"Content-Length: 3\r\n\r\nabcGET /b HTTP/1.1\nHost: x\n\n",
}

# Accepted, and what routes see of them is what the upstream sees.
SPELLINGS = {
    "plain": get(),
    "dots": get(b"/x/%2e%2e/./a//b/"),
    "escapes": get(b"/%61%7e%2B?q=%41"),
    "odd query": get(b"/a?b={c}|[d]&&e"),
    "two levels": get(lines=b"X-Level: vip\r\nX-Level: no\r\n"),
    "level": get(lines=b"X-LEVEL:   vip  \r\n"),
    "level as a variable": get(lines=b"X_Level: vip\r\n"),
    "level by Connection": get(lines=b"X-Level: vip\r\nConnection: X-Level\r\n"),
    "claims": get(lines=b"X-Forwarded-For: 10.0.0.1\r\nX-Original-URL: /admin\r\n"),
    "two cookies": get(lines=b"Cookie: a=1\r\nCookie: a=2\r\n"),
    "rewritten": get(b"/old/%2e/b?c=1"),
    "chunks": CHUNKED + b"3;name=value\r\nabc\r\n0\r\nX-Trailer: vip\r\n\r\n",
    "length": POST + b"Content-Length: 3\r\n\r\nabc",
    "body of a GET": get(lines=b"Content-Length: 3\r\n") + b"abc",
    "host in capitals": b"GET /a HTTP/1.1\r\nHost: SHOP.Example.:8080\r\n\r\n",
    "UTF-8 in a header": get(lines="X-A: \u00e4\r\n".encode()),
}


def mutated(seed: int) -> bytes:
    """A request with some bytes changed, doubled, taken away or put in."""
    draw = random.Random(seed)
    # What is refused stays refused, mostly: most of them begin as what is accepted.
    from_which = SPELLINGS if draw.random() < 0.8 else REFUSED
    raw = bytearray(draw.choice(list(from_which.values()))[:400])
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(len(raw))
        match draw.randrange(4):
            case 0:
                raw[at] = draw.choice(b"\x00\t\n\r :;,%/.\\#?0a\xff")
            case 1:
                del raw[at]
            case 2:
                raw.insert(at, draw.choice(b"\x00\t\n\r :;,%/.\\#?0a\xff"))
            case _:
                raw[at:at] = raw[at : at + draw.randint(1, 12)]
    return bytes(raw)
