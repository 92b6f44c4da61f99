"""Whose answer may be given to others.

A shared answer was fetched without cookies and credentials, but the upstream may still say that it
is for one reader only (RFC 9111, section 3), or that it depends on what was not sent.
"""

from collections.abc import Iterable

# Final answers that others may get: what is there, what moved, and what is not there. 404 and 410
# count too, or everybody who asks for what is gone would have to ask the upstream in turn.
SHARED_STATUSES = frozenset({200, 203, 204, 301, 308, 404, 410})
PRIVATE = frozenset({"private", "no-store", "no-cache"})
# Every shared fetch asks for the plain body, so only this may vary.
MAY_VARY = frozenset({"accept-encoding"})
# Of one connection, or made anew for each answer.
NOT_KEPT = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "content-length",
        "age",
        "set-cookie",
    }
)

Headers = Iterable[tuple[str, str]]


def shareable(status: int, headers: Headers) -> bool:
    """Whether others may get an answer; names of headers have any case."""
    if status not in SHARED_STATUSES:
        return False
    for name, value in headers:
        words = {word.split("=")[0].strip() for word in value.lower().split(",")}
        match name.lower():
            case "set-cookie" | "content-encoding" | "content-range":
                return False
            case "cache-control" if words & PRIVATE:
                return False
            case "vary" if not words <= MAY_VARY:
                return False
            case _:
                pass
    return True


def kept(headers: Headers) -> tuple[tuple[str, str], ...]:
    """The headers that are given to others with an answer."""
    return tuple((name, value) for name, value in headers if name.lower() not in NOT_KEPT)
