"""A whitelist of 2,000 URLs that came from an OpenAPI file, before a real Envoy and our matcher."""

import asyncio
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from benchmarks.live_envoy import backend, ready
from controlplane.api.fleet_document.parsing import parse
from controlplane.domain.routing.matching.normalization import Refusal, normalized
from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.matching.table import Table
from tests.acceptance.served import GROUP, NODE, in_force, site_in, until
from tests.routing import ticketing_api

HOST = "tickets.example"
SEED = 20_301
REFUSED = 10_000
AGAIN = 1_000
CONNECTIONS = 8
API = files("data").joinpath("routes", "ticketing-openapi.yaml").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One request, and how its target came from a listed one."""

    method: str
    target: str
    kind: str


def listed_cases(chance: random.Random) -> list[Case]:
    return [
        Case(method=method.upper(), target=filled(path, chance), kind="listed")
        for path, methods in ticketing_api.paths().items()
        for method in methods
    ]


def filled(path: str, chance: random.Random) -> str:
    """A path with a value for each parameter."""
    return re.sub(
        r"\{\w+\}", lambda _: f"{chance.choice('ABCDEFGH')}{chance.randrange(10**9)}", path
    )


Mutate = Callable[[str, random.Random], str]


def at_slash(text: str) -> Mutate:
    """Put a text in place of one of the slashes."""

    def mutate(target: str, chance: random.Random) -> str:
        places = [at for at, character in enumerate(target) if character == "/"]
        at = chance.choice(places)
        return f"{target[:at]}{text}{target[at + 1 :]}"

    return mutate


def behind(*texts: str) -> Mutate:
    return lambda target, chance: target + chance.choice(texts)


def case_changed(target: str, chance: random.Random) -> str:
    letters = [at for at, character in enumerate(target) if character.isalpha()]
    at = chance.choice(letters)
    return f"{target[:at]}{target[at].swapcase()}{target[at + 1 :]}"


def truncated(target: str, chance: random.Random) -> str:
    return target[: chance.randrange(1, len(target))]


def letter_spelt(target: str, chance: random.Random) -> str:
    """A letter as its percent escape, which is the same path."""
    at = chance.choice([at for at, character in enumerate(target) if character.isalnum()])
    digits = f"{ord(target[at]):02x}"
    return f"{target[:at]}%{chance.choice((digits, digits.upper()))}{target[at + 1 :]}"


def letter_spelt_twice(target: str, chance: random.Random) -> str:
    return letter_spelt(target, chance).replace("%", "%25")


def segment_left_out(target: str, chance: random.Random) -> str:
    segments = target.split("/")
    del segments[chance.randrange(1, len(segments))]
    return "/".join(segments)


MUTATIONS: dict[str, Sequence[Mutate]] = {
    "case": (case_changed,),
    "extra segment": (at_slash("/x/"), behind("/x", "/admin"), at_slash("/otn/")),
    "double slash": (at_slash("//"), behind("//", "//x"), lambda target, _: f"/{target}x"),
    "dot segment": (
        at_slash("/./"),
        at_slash("/../"),
        at_slash("/x/../"),
        at_slash("/..;/"),
        at_slash("/%2e%2E/"),
        behind("/.", "/..", "/../x"),
    ),
    "percent": (
        letter_spelt,
        letter_spelt_twice,
        at_slash("%2F"),
        at_slash("%5c"),
        at_slash("\\"),
        behind("%00", "%20", "%2e", "%zz", "%", "%3Fa=b", "%C3%A9", "%e2%80%8b"),
    ),
    "truncated": (truncated, segment_left_out),
    "suffix": (behind("/", ".json", ".", ";v=1", "~", "x", "|", ".html?a=/otn", "@", "+"),),
    "query": (behind("?", "?a=b", "?/../x"),),
}


def mutated_cases(cases: Sequence[Case], chance: random.Random) -> Iterator[Case]:
    """Without end: each time another listed request, changed in another way."""
    while True:
        for kind, mutations in MUTATIONS.items():
            case = chance.choice(cases)
            target = chance.choice(mutations)(case.target, chance)
            yield Case(method=case.method, target=target, kind=kind)
        case = chance.choice(cases)
        method = chance.choice(("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "get"))
        yield Case(method=method, target=case.target, kind="method")


class Listing:
    """What the file lists, without trees and routes: a request is listed when a line fits it.

    Lines are kept by the places of their parameters, of which there are a handful.
    """

    def __init__(self) -> None:
        self._methods: dict[tuple[str, ...], frozenset[str]] = {}
        for path, methods in ticketing_api.paths().items():
            segments = ("*" if part.startswith("{") else part for part in path.split("/"))
            self._methods[tuple(segments)] = frozenset(method.upper() for method in methods)
        self._places = {
            tuple(at for at, part in enumerate(line) if part == "*") for line in self._methods
        }

    def passes(self, case: Case) -> bool:
        path = normalized(case.target)
        if isinstance(path, Refusal):
            return False
        return any(case.method in self._methods.get(line, ()) for line in self._lines(path))

    def _lines(self, path: str) -> Iterator[tuple[str, ...]]:
        """The path with `*` where some line has a parameter."""
        segments = path.split("/")
        for places in self._places:
            line = list(segments)
            if all(at < len(line) and line[at] for at in places):
                for at in places:
                    line[at] = "*"
                yield tuple(line)


def by_matcher(table: Table, case: Case) -> bool:
    request = Request.of(case.target, case.method, HOST)
    if isinstance(request, Refusal):
        return False
    route = table.match(request, now_s=0.0).route
    return route is not None and route.service == "tickets"


async def by_envoy(port: int, cases: Sequence[Case]) -> list[int]:
    """The status of each request, sent byte for byte."""
    statuses = [0] * len(cases)

    async def send(numbers: Sequence[int]) -> None:
        streams = None
        for number in numbers:
            if streams is None:
                streams = await asyncio.open_connection("127.0.0.1", port)
            statuses[number], goes_on = await exchange(streams, cases[number])
            if not goes_on:
                streams[1].close()
                streams = None
        if streams is not None:
            streams[1].close()

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for first in range(CONNECTIONS):
            group.create_task(send(range(first, len(cases), CONNECTIONS)))
    return statuses


async def exchange(
    streams: tuple[asyncio.StreamReader, asyncio.StreamWriter], case: Case
) -> tuple[int, bool]:
    """Status, and whether the connection goes on."""
    reader, writer = streams
    head = f"{case.method} {case.target} HTTP/1.1\r\nhost: {HOST}\r\n"
    writer.write(f"{head}content-length: 0\r\n\r\n".encode())
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = re.search(r"content-length: (\d+)", head)
    if length is not None and case.method != "HEAD":
        await reader.readexactly(int(length[1]))
    return int(head.split(" ")[1]), length is not None and "connection: close" not in head


def cases_of(listing: Listing) -> tuple[list[Case], list[Case], list[Case]]:
    """Listed ones, 1,000 mutations that are listed again, and 10,000 that are not."""
    chance = random.Random(SEED)
    listed = listed_cases(chance)
    again: list[Case] = []
    refused: list[Case] = []
    for case in mutated_cases(listed, chance):
        if not listing.passes(case):
            refused.append(case)
        elif len(again) < AGAIN:
            again.append(case)
        if len(refused) == REFUSED:
            return listed, again, refused
    raise AssertionError("there are mutations without end")


async def test_what_a_whitelist_of_2000_urls_lists_passes_and_10000_mutations_are_refused(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """5. Whitelist of 2,000 URLs from OpenAPI: listed pass, 10,000 mutated are refused, on Envoy.

    And on our matcher alike; a mutation whose normal form is listed again must pass on both.
    """
    site, listing = site_in(tmp_path), Listing()
    async with site.serving(), site.api() as api, backend("east", site.ports.east):
        await site.declare(api)
        params = {"format": "openapi", "service": "tickets", "whitelist": "true", "reason": "5"}
        answer = await api.post("/v1/routes:import", params=params, content=API, timeout=60)
        assert answer.json()["imported"] == ticketing_api.PATHS, answer.text[:2000]
        assert answer.json()["findings"] == []
        fleet = parse((await api.get("/v1/fleet")).text)
        table = Table.of(fleet.routes, fleet.whitelists, gateway=GROUP)
        listed, again, refused = cases_of(listing)
        wrong = [case for case in (*listed, *again) if not by_matcher(table, case)]
        wrong += [case for case in refused if by_matcher(table, case)]
        assert wrong == []
        async with backend("west", site.ports.west), site.agent(), site.envoy():
            await until(lambda: in_force(api, NODE), "the gateway runs it")
            await ready(site.ports.admin)
            statuses = await by_envoy(site.ports.listener, [*listed, *again, *refused])
    passed, stopped = statuses[: -len(refused)], statuses[-len(refused) :]
    wrong = [case for case, status in zip((*listed, *again), passed, strict=True) if status != 200]
    wrong += [
        case
        for case, status in zip(refused, stopped, strict=True)
        if status not in (400, 403, 414, 501)
    ]
    assert [(case, statuses[(*listed, *again, *refused).index(case)]) for case in wrong[:20]] == []
    record_property("whitelist_urls", ticketing_api.PATHS)
    record_property("listed_requests_passed", len(listed))
    record_property("mutations_refused", len(refused))
    record_property("mutations_listed_again", len(again))
    record_property("kinds", dict(Counter(case.kind for case in refused)))
