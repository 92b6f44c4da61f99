"""What is declared of an upstream that has to be protected, and what of it can be carried out."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.errors import Invalid
from controlplane.domain.routing.precedence import is_parameter

METHODS = ("GET", "HEAD")
MOST_READS = 100
MOST_QUERY = 20
LONGEST_PATH = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """Reads that are cached, and what tells one from the next: host, path and some arguments.

    Attributes:
        path: `/shows/{show}/seats`; `{name}` stands for one segment that is not empty.
        query: names of query arguments that the answer depends on, as they are spelled in a
            request. The others are not sent when an answer is fetched for everybody.
        method: GET or HEAD; nothing else is ever cached.
    """

    path: str
    query: tuple[str, ...] = ()
    method: str = "GET"


class Alone(StrEnum):
    """What an agent does while it cannot reach the shared state.

    `TOKENS` lends tokens of its own: at most one fetch of a read in each agent. `REFUSE` fetches
    nothing: there are old answers or none. `ADMIT` protects nothing.
    """

    TOKENS = "tokens"
    REFUSE = "refuse"
    ADMIT = "admit"


@dataclass(frozen=True, slots=True, kw_only=True)
class OverloadPolicy:
    """When an upstream is protected, and how.

    Attributes:
        reads: what is cached, 1..100; everything else always goes to the upstream.
        threshold: requests that all agents together may ask of one upstream in a window, from
            cache or not; above it the upstream is protected. 0 always protects.
        window_s: 1..3,600.
        lifetime_s: how long an answer is given to others while the upstream is protected,
            0.05..3,600.
        carried_s: answers from before the protection count as alive for `lifetime_s` after it
            began, unless they are older than this; 0..86,400.
        token_s: after this time a fetch is given up and its token is free, 0.05..300.
        wait_s: how long a request waits for an answer or a token, 0..60.
        stale_s: for so long after its lifetime an answer is given where there is no other; 0
            never, up to 86,400.
        most_waiting: for one read, over all agents; 0..100,000. More are told no at once.
        most_answer_bytes: longer answers are not cached, 1..67,108,864.
        most_bytes: of all cached answers, in each agent and in the shared state; the oldest go
            first. 1..17,179,869,184.
        alone: while the shared state is away.
        alone_share: part of the threshold that one agent takes for its own then, above 0, at
            most 1.
    """

    reads: tuple[Read, ...]
    threshold: int = 6_000
    window_s: float = 60.0
    lifetime_s: float = 2.0
    carried_s: float = 60.0
    token_s: float = 5.0
    wait_s: float = 2.5
    stale_s: float = 60.0
    most_waiting: int = 1_000
    most_answer_bytes: int = 1_048_576
    most_bytes: int = 67_108_864
    alone: Alone = Alone.TOKENS
    alone_share: float = 0.5


LIMITS = (
    ("threshold", 0, 1_000_000_000),
    ("window_s", 1, 3_600),
    ("lifetime_s", 0.05, 3_600),
    ("carried_s", 0, 86_400),
    ("token_s", 0.05, 300),
    ("wait_s", 0, 60),
    ("stale_s", 0, 86_400),
    ("most_waiting", 0, 100_000),
    ("most_answer_bytes", 1, 67_108_864),
    ("most_bytes", 1, 17_179_869_184),
    ("alone_share", 0.001, 1),
)


def check_overload(policy: OverloadPolicy) -> None:
    """Raise Invalid `policy_invalid` for what no gateway could carry out."""
    for words in _faults(policy):
        raise Invalid("policy_invalid", f"overload: {words}")


def _faults(policy: OverloadPolicy) -> Iterator[str]:
    for name, low, high in LIMITS:
        value = getattr(policy, name)
        # Also what is no number at all: NaN is within nothing.
        if not low <= value <= high:
            yield f"{name} is {value:g}: give {low:g}..{high:g}"
    if policy.most_answer_bytes > policy.most_bytes:
        yield (
            f"most_answer_bytes is {policy.most_answer_bytes} and most_bytes "
            f"{policy.most_bytes}: one answer must have room"
        )
    if not 1 <= len(policy.reads) <= MOST_READS:
        yield f"reads has {len(policy.reads)} items: declare 1..{MOST_READS}"
    for read in policy.reads:
        yield from (f"read {read.method} {read.path[:80]}: {words}" for words in _wrong(read))
    places = [(read.method, _shape(read.path)) for read in policy.reads]
    for place in {place for place in places if places.count(place) > 1}:
        yield f"several reads are {' '.join(place)}: leave one"


def _wrong(read: Read) -> Iterator[str]:
    if read.method not in METHODS:
        yield f"the method is {read.method!r}: only GET and HEAD are reads"
    segments = read.path[1:].split("/")
    if not read.path.startswith("/") or len(read.path) > LONGEST_PATH:
        yield f"the path must begin with / and have at most {LONGEST_PATH} characters"
    if any(("{" in part or "}" in part) and not is_parameter(part) for part in segments):
        yield "a parameter is one whole segment, as {show}"
    if len(read.query) > MOST_QUERY or len(set(read.query)) < len(read.query):
        yield f"query names at most {MOST_QUERY} arguments, each once"
    for name in read.query:
        if not name or not name.isascii() or not name.isprintable() or set(name) & set("&=# "):
            yield f"query has {name[:40]!r}: give the name as it stands in a URL"


def _shape(path: str) -> str:
    """A template without the names of its parameters."""
    return "/".join("{}" if is_parameter(part) else part for part in path.split("/"))
