"""The server's time for countdowns: `GET /time`, milliseconds of Unix time, never from a cache.

Served by `direct_http`, on a port of its own. A page takes half of the round trip off, so that the
countdown of every buyer ends at one moment, whatever his own clock says.
"""

import time

from gateway.direct_http import Call, wire

PATH = b"/time"
_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nCache-Control: no-store\r\n"
    b"Access-Control-Allow-Origin: *\r\nContent-Length: 24\r\n\r\n"
)
NOT_FOUND = wire(404, b"")
NOT_ALLOWED = wire(405, b"", ((b"Allow", b"GET"),))


def time_now() -> bytes:
    """The answer of this moment: `{"now_ms":1700000000123}`."""
    # 13 digits from 2001 to 2286, so that the length above is always right.
    return b'%b{"now_ms":%d}' % (_HEAD, time.time_ns() // 1_000_000)


def answer(call: Call) -> bytes:
    """The answer to a request of the clock's port."""
    if call.target != PATH:
        return NOT_FOUND
    return time_now() if call.method == b"GET" else NOT_ALLOWED
