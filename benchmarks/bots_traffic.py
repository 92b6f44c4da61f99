"""Labelled traffic of a ticket sale: shoppers, and bots of five kinds among them.

Synthetic, seeded. Shoppers read pages, of which each brings a few requests of its own, think for a
while (log-normal, as Barford and Crovella 1998 found for the web), sometimes mistype a password,
and order some seconds after they have opened a page; some reload every second around the opening.
Bots: pollers ask for the stock several times a second; scrapers walk all pages; snipers order in
the moment of the opening, again and again; stuffers try passwords; sleepers look like a browser and
ask once in a second or so. Most send the user agent of a browser.
"""

import heapq
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

BROWSERS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/126.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1 Version/17.5 Safari",
    "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/126.0 Mobile Safari/537.36",
)
TOOLS = ("python-requests/2.32", "curl/8.5.0", "Go-http-client/1.1")
PAGES = 2_000
# The sale opens after this part of the time.
OPENS = 0.2


@dataclass(frozen=True, slots=True, order=True)
class Sent:
    """One request: when, a number that tells those of one moment apart, and what it is."""

    at_s: float
    number: int
    user: str
    bot: bool
    route: str
    path: str
    agent: str
    status: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Wave:
    """How much traffic.

    Attributes:
        clients: people and bots together; bots: share of them, 0..1.
        lasts_s: from the first request to the last.
        haste: how many times faster than usual bots are.
    """

    clients: int = 1_000
    bots: float = 0.05
    lasts_s: float = 600.0
    haste: float = 1.0


def traffic(wave: Wave, seed: int) -> list[Sent]:
    """All requests in order of time."""
    rng = random.Random(seed)
    numbers = count()
    bots = round(wave.clients * wave.bots)
    makers = [_poller, _scraper, _sniper, _stuffer, _sleeper]
    sources = [
        makers[at % len(makers)](_Client(f"b{at}", rng, numbers, wave)) for at in range(bots)
    ]
    sources += [
        _shopper(_Client(f"s{at}", rng, numbers, wave)) for at in range(wave.clients - bots)
    ]
    merged = heapq.merge(*(sorted(source) for source in sources))
    return [one for one in merged if one.at_s <= wave.lasts_s]


class _Client:
    """Somebody who sends requests."""

    def __init__(self, user: str, rng: random.Random, numbers: "count[int]", wave: Wave) -> None:
        self.user = user
        self.rng = random.Random(rng.getrandbits(64))
        self.bot = user.startswith("b")
        self.lasts_s = wave.lasts_s
        self.haste = wave.haste
        self.opens_s = OPENS * wave.lasts_s
        self._numbers = numbers
        tools = TOOLS if self.bot and self.rng.random() < 0.3 else BROWSERS
        self.agent = self.rng.choice(tools)

    def sends(self, at_s: float, route: str, path: str, status: int = 200) -> Sent:
        return Sent(at_s, next(self._numbers), self.user, self.bot, route, path, self.agent, status)


def _page(client: _Client, at_s: float, route: str, path: str) -> Iterator[Sent]:
    """A page, and what it loads within a second or two."""
    yield client.sends(at_s, route, path)
    for _ in range(client.rng.randrange(1, 6)):
        at_s += client.rng.expovariate(4.0)
        yield client.sends(at_s, "api", f"/api/{client.rng.randrange(20)}")


def _shopper(client: _Client) -> Iterator[Sent]:
    rng = client.rng
    at_s = rng.uniform(0.0, client.lasts_s * 0.8)
    # Some come for the opening.
    eager = rng.random() < 0.3
    if eager:
        at_s = rng.uniform(max(0.0, client.opens_s - 60.0), client.opens_s)
    for _ in range(rng.randrange(2, 15)):
        yield from _page(client, at_s, "item", f"/item/{rng.randrange(PAGES)}")
        at_s += 2.0 + rng.lognormvariate(2.0, 1.0)
        if rng.random() < 0.1:
            failed = rng.random() < 0.2
            yield client.sends(at_s, "login", "/login", 401 if failed else 200)
            at_s += rng.uniform(4.0, 15.0)
        if eager and abs(at_s - client.opens_s) < 15.0:
            for _ in range(rng.randrange(3, 12)):
                yield client.sends(at_s, "item", "/item/7")
                at_s += rng.uniform(0.8, 2.0)
        if rng.random() < 0.15:
            at_s += rng.uniform(3.0, 30.0)
            yield client.sends(at_s, "order", "/order")
            at_s += 5.0
        if at_s > client.lasts_s:
            return


def _steady(client: _Client, rate_rps: float) -> Iterator[float]:
    at_s = client.rng.uniform(0.0, client.lasts_s * 0.2)
    while at_s < client.lasts_s:
        yield at_s
        at_s += client.rng.uniform(0.7, 1.3) / (rate_rps * client.haste)


def _poller(client: _Client) -> Iterator[Sent]:
    for at_s in _steady(client, client.rng.uniform(2.0, 10.0)):
        yield client.sends(at_s, "api", f"/api/stock/{client.rng.randrange(3)}")


def _scraper(client: _Client) -> Iterator[Sent]:
    for number, at_s in enumerate(_steady(client, client.rng.uniform(1.0, 4.0))):
        yield client.sends(at_s, "item", f"/item/{number % PAGES}")


def _sniper(client: _Client) -> Iterator[Sent]:
    at_s = client.opens_s - 2.0
    while at_s < client.lasts_s:
        yield client.sends(at_s, "item", "/item/7")
        yield client.sends(at_s + client.rng.uniform(0.02, 0.4), "order", "/order")
        at_s += client.rng.uniform(0.5, 2.0) / client.haste


def _stuffer(client: _Client) -> Iterator[Sent]:
    for at_s in _steady(client, client.rng.uniform(0.5, 2.0)):
        yield client.sends(at_s, "login", "/login", 401 if client.rng.random() < 0.97 else 200)


def _sleeper(client: _Client) -> Iterator[Sent]:
    for at_s in _steady(client, client.rng.uniform(0.7, 1.2)):
        path = f"/item/{client.rng.randrange(40)}"
        yield client.sends(at_s, "item", path)
